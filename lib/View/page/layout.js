'use strict';
// Places: layers and the order in them are the compiler's; heights are found here, since
// boxes open and close. A box that opens pushes what is beside it aside and what is below
// it down.

const boxHeight = 40, groupHeight = 56, portHeight = 30, gapX = 18, gapY = 30, gapChain = 8, gapColumn = 56;
const padding = 18, headHeight = 40;

// By group: what lies in each layer, left to right; a chain point has `child` -1.
for (const group of groups) {
  group.layers = Array.from({ length: group.layers }, () => []);
  group.chains = [];
  let at = 0;
  group.children.forEach((child, number) => {
    group.layers[group.layer[number]].push({ child: number, x: group.x[number] });
    const points = [];
    for (let i = 0; i < group.chainLength[number]; ++i, ++at) {
      const point = { child: -1, x: group.chain[at] };
      points.push(point);
      group.layers[group.layer[number] + 1 + i].push(point);
    }
    group.chains.push(points);
  });
  for (const layer of group.layers) layer.sort((a, b) => a.x - b.x);
}

function sizeOf(group, number) {
  const child = group.children[number];
  if (child.kind === GroupChild && groups[child.index].isOpen) {
    const inner = groups[child.index].place;
    return { w: Math.max(inner.w + 2 * padding, 210), h: inner.h + headHeight + padding };
  }
  return { w: group.width[number], h: child.kind === GroupChild ? groupHeight : child.kind === UnitChild ? boxHeight : portHeight };
}

// Neighbours that would overlap become one block at the mean of where they want to be.
function spread(items) {
  const blocks = [];
  let offset = 0;
  items.forEach((item, i) => {
    const before = items[i - 1];
    if (before) offset += (before.w + item.w) / 2 + (before.w || item.w ? gapX : gapChain) - 0.01;
    item.offset = offset;
    let block = { mean: item.want - offset, count: 1 };
    while (blocks.length && blocks[blocks.length - 1].mean > block.mean) {
      const last = blocks.pop();
      block = { mean: (last.mean * last.count + block.mean * block.count) / (last.count + block.count), count: last.count + block.count };
    }
    blocks.push(block);
  });
  let i = 0;
  for (const block of blocks)
    for (let k = 0; k < block.count; ++k, ++i) items[i].x = block.mean + items[i].offset;
}

// Fills group.place: boxes relative to the group's corner, and the tops of layers.
function placeGroup(group) {
  for (const child of group.children)
    if (child.kind === GroupChild && groups[child.index].isOpen) placeGroup(groups[child.index]);
  const place = { boxes: new Array(group.children.length), top: [], bottom: [], column: [], left: [], right: [], points: new Map(), w: 0, h: 0 };
  const ends = [...group.columns.slice(1), group.layers.length];
  let left = 0;
  group.columns.forEach((begin, column) => {
    let y = 0, least = Infinity, most = -Infinity;
    const laid = [];
    for (let l = begin; l < ends[column]; ++l) {
      const items = group.layers[l].map(item => {
        const size = item.child < 0 ? { w: 0, h: 0 } : sizeOf(group, item.child);
        return { item, want: item.x, x: item.x, ...size };
      });
      if (items.some(it => it.item.child >= 0 && it.w !== group.width[it.item.child])) spread(items);
      const height = items.reduce((h, it) => Math.max(h, it.h), 0);
      for (const it of items) {
        least = Math.min(least, it.x - it.w / 2);
        most = Math.max(most, it.x + it.w / 2);
        laid.push({ ...it, y: y + (height - it.h) / 2 });
      }
      place.top[l] = y;
      place.bottom[l] = y + height;
      place.column[l] = column;
      y += height + gapY;
    }
    for (const it of laid) {
      const x = left + it.x - least;
      if (it.item.child >= 0) place.boxes[it.item.child] = { x: x - it.w / 2, y: it.y, w: it.w, h: it.h };
      else place.points.set(it.item, x);
    }
    place.left[column] = left;
    place.right[column] = left + most - least;
    left = place.right[column] + gapColumn;
    place.h = Math.max(place.h, y - gapY);
  });
  place.w = left - gapColumn;
  group.place = place;
  group.paths = null; // made when they are drawn
}

// All open groups with their corners, outer ones first.
function openGroups() {
  const list = [];
  const add = (group, x, y) => {
    list.push({ group, x, y });
    group.children.forEach((child, number) => {
      if (child.kind !== GroupChild || !groups[child.index].isOpen) return;
      const box = group.place.boxes[number];
      const inner = groups[child.index].place;
      add(groups[child.index], x + box.x + (box.w - inner.w) / 2, y + box.y + headHeight);
    });
  };
  add(groups[0], 0, 0);
  return list;
}

// --- edges

// Of several edges into a box each has a place of its own.
function entries(group) {
  const into = group.children.map(() => []);
  group.edges.forEach((edge, number) => into[edge.to].push(number));
  const entry = new Float64Array(group.edges.length);
  into.forEach((list, child) => {
    const box = group.place.boxes[child];
    const from = number => {
      const edge = group.edges[number], chain = group.chains[edge.from], last = group.layer[edge.to] - group.layer[edge.from] - 2;
      return last >= 0 && last < chain.length ? group.place.points.get(chain[last]) : group.place.boxes[edge.from].x + group.place.boxes[edge.from].w / 2;
    };
    const sorted = list.map(number => ({ number, x: from(number) })).sort((a, b) => a.x - b.x);
    const step = Math.min(18, box.w * 0.7 / Math.max(sorted.length - 1, 1));
    sorted.forEach((it, i) => { entry[it.number] = box.x + box.w / 2 + (i - (sorted.length - 1) / 2) * step; });
  });
  return entry;
}

// From layer to layer; at the end of a column to the head of the next.
function pathOfEdge(group, edge, endX) {
  const place = group.place, from = place.boxes[edge.from], to = place.boxes[edge.to];
  const path = new Path2D(), first = group.layer[edge.from], last = group.layer[edge.to];
  let x = from.x + from.w / 2, y = from.y + from.h, x0 = x, x1 = x;
  path.moveTo(x, y);
  let label = null;
  if (last <= first) { // a loop goes back up
    const side = Math.max(from.x + from.w, to.x + to.w) + 26;
    path.bezierCurveTo(x, y + 30, side, y + 30, side, (y + to.y) / 2);
    path.bezierCurveTo(side, to.y - 30, endX, to.y - 30, endX, to.y);
    return { path, label: { x: side, y: (y + to.y) / 2 }, x0: Math.min(x, endX), x1: side, isBack: true };
  }
  const chain = group.chains[edge.from];
  const isLed = chain.length >= last - first - 1;
  const step = (nx, l) => { // from the bottom of layer l - 1 to the top of layer l
    const ny = place.top[l];
    if (place.column[l] === place.column[l - 1]) {
      const bottom = place.bottom[l - 1];
      path.lineTo(x, bottom);
      const middle = (bottom + ny) / 2;
      if (Math.abs(nx - x) > 0.5) path.bezierCurveTo(x, middle, nx, middle, nx, ny);
      else path.lineTo(nx, ny);
      if (!label) label = { x: (x + nx) / 2, y: middle };
    } else {
      const lane = place.right[place.column[l - 1]] + gapColumn / 2 + ((edge.from * 7) % 5 - 2) * 5;
      const low = place.bottom[l - 1] + 15, high = ny - 15;
      path.arcTo(x, low, lane, low, 8);
      path.arcTo(lane, low, lane, high, 8);
      path.arcTo(lane, high, nx, high, 8);
      path.arcTo(nx, high, nx, ny, 8);
      path.lineTo(nx, ny);
      if (!label) label = { x: (x + lane) / 2, y: low };
    }
    x = nx;
    y = ny;
    x0 = Math.min(x0, x);
    x1 = Math.max(x1, x);
  };
  if (isLed) {
    for (let l = first + 1; l < last; ++l) {
      step(place.points.get(chain[l - first - 1]), l);
      path.lineTo(x, y = place.bottom[l]);
    }
    step(endX, last);
    path.lineTo(endX, to.y);
  } else {
    const bend = Math.min(Math.abs(to.y - y) / 2, 90);
    path.bezierCurveTo(x, y + bend, endX, to.y - bend, endX, to.y);
    label = { x: (x + endX) / 2, y: (y + to.y) / 2 };
  }
  return { path, label, isLoose: !isLed, x0: Math.min(x0, endX), x1: Math.max(x1, endX) };
}

// A path for each edge, and one for all of a look, which is what is drawn from afar.
function pathsOf(group) {
  if (group.paths) return group.paths;
  const entry = entries(group), plain = new Path2D(), crossing = new Path2D(), loose = new Path2D();
  const edges = group.edges.map((edge, number) => {
    const made = pathOfEdge(group, edge, entry[number]);
    const from = group.place.boxes[edge.from], to = group.place.boxes[edge.to];
    (made.isLoose ? loose : edge.crosses ? crossing : plain).addPath(made.path);
    const isFolded = group.place.column[group.layer[edge.from]] !== group.place.column[group.layer[edge.to]];
    return { ...made, edge, isFolded, y0: Math.min(from.y, to.y), y1: Math.max(from.y + from.h, to.y + to.h) };
  });
  // One tensor that several read is labelled once, on the straightest way.
  const labelled = new Map();
  for (const drawn of edges) {
    const key = drawn.edge.from + ' ' + drawn.edge.bytes, from = group.place.boxes[drawn.edge.from];
    const aside = drawn.label ? Math.abs(drawn.label.x - from.x - from.w / 2) : Infinity, best = labelled.get(key);
    if (best && best.aside <= aside) continue;
    if (best) best.drawn.hasLabel = false;
    drawn.hasLabel = true;
    labelled.set(key, { drawn, aside });
  }
  return group.paths = { edges, plain, crossing, loose };
}
