'use strict';
// The canvas. What is far away is drawn with less: boxes lose their text, then their
// borders; edges become one path for each group.

const stage = document.getElementById('stage');
const canvas = document.getElementById('graph');
const pen = canvas.getContext('2d');
const camera = { x: 0, y: 0, scale: 1 }; // screen = (world - camera) * scale
const look = { picked: null, over: null, only: null, colour: 'place' }; // what is shown of it
let scene = []; // openGroups()
let isAsked = false;

const font = 'system-ui, "Noto Sans", "DejaVu Sans", sans-serif';
const colours = {};
function readColours() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ['ground', 'panel', 'ink', 'muted', 'line', 'edge', 'cross', 'pick', 'accent', 'soft', 'mark', 'v0', 'v1', 'v2', 'v3',
                      'r0', 'r1', 'r2', 'r3', 'r4', 'r5', 'other', 'none', 'heat0', 'heat1', 'heat2', 'heat3', 'heat4'])
    colours[name] = style.getPropertyValue('--' + name).trim();
}

function mixed(a, b, share) { // of hex colours, `share` of a
  const part = (c, i) => parseInt(c.slice(1 + 2 * i, 3 + 2 * i), 16);
  return '#' + [0, 1, 2].map(i => Math.round(part(a, i) * share + part(b, i) * (1 - share)).toString(16).padStart(2, '0')).join('');
}
const tints = new Map();
function tint(colour, share) {
  const key = colour + share + colours.panel;
  if (!tints.has(key)) tints.set(key, mixed(colour, colours.panel, share));
  return tints.get(key);
}

// --- colour of what is where

const maxKinds = 6; // of reasons with a colour of their own
const colourOfPlace = place => colours['v' + (place - 1) % 4];
const colourOfKind = kind => kind < 0 ? colours.none : kind < maxKinds ? colours['r' + kind] : colours.other;
const placeColour = row => isHost(row) ? colourOfKind(ops.kind[row]) : colourOfPlace(ops.place[row]);

// Where there is heat, what is hottest has the last colour; in between by the root, so that
// small things differ.
const heat = { value: null, most: 0 };
function chooseHeat() {
  heat.value = { estimate: row => hasEstimates && ops.estimate[row] >= 0 ? ops.estimate[row] : -1,
                 flops: row => ops.flops[row],
                 measured: row => timingOfRow[row] < 0 ? -1 : data.timings[timingOfRow[row]].us }[look.colour] || null;
  heat.most = 0;
  if (heat.value) for (let row = 0; row < numRows; ++row) heat.most = Math.max(heat.most, heat.value(row));
}
function heatColour(value) {
  if (value < 0) return colours.none;
  const at = 4 * Math.sqrt(heat.most > 0 ? Math.min(value / heat.most, 1) : 0), step = Math.min(Math.floor(at), 3);
  return mixed(colours['heat' + (step + 1)], colours['heat' + step], at - step);
}
function unitColour(unit) {
  if (!heat.value) return placeColour(unit.row);
  let most = -1;
  for (let row = unit.row; row < unit.row + unit.rows; ++row) most = Math.max(most, heat.value(row));
  return heatColour(most);
}
function groupColour(group) {
  if (heat.value && !group.isOpen) return heatColour(group.list.reduce((most, row) => Math.max(most, heat.value(row)), -1));
  if (group.kind === RegionGroup) return colourOfPlace(ops.place[group.list[0]]);
  const places = new Set();
  for (const row of group.list) places.add(ops.place[row]);
  places.delete(0);
  return places.size === 1 ? colourOfPlace([...places][0]) : colours.none;
}

// --- text

const cuts = new Map();
function fitted(words, size, weight, width) {
  const key = words + '|' + weight + size + '|' + Math.round(width);
  if (cuts.has(key)) return cuts.get(key);
  pen.font = `${weight} ${size}px ${font}`;
  let cut = words;
  if (pen.measureText(cut).width > width) {
    let low = 0, high = words.length;
    while (low < high) { // names differ at their ends
      const middle = (low + high + 1) >> 1;
      if (pen.measureText('…' + words.slice(words.length - middle)).width <= width) low = middle;
      else high = middle - 1;
    }
    cut = low < 2 ? '' : '…' + words.slice(words.length - low);
  }
  cuts.set(key, cut);
  return cut;
}
// The size at which all of it fits, as long as that can be read.
function sizeFor(words, width, weight, most) {
  const key = words + '|' + weight + '|' + Math.round(width) + '|' + most;
  if (!cuts.has(key)) {
    pen.font = `${weight} 100px ${font}`;
    cuts.set(key, Math.max(Math.min(most, 100 * width / pen.measureText(words).width), 6 / camera.scale, 8));
  }
  return Math.floor(cuts.get(key) * 2) / 2;
}
function write(words, x, y, width, size, weight, colour, align = 'center') {
  const cut = fitted(words, size, weight, width);
  if (!cut) return;
  pen.font = `${weight} ${size}px ${font}`;
  pen.fillStyle = colour;
  pen.textAlign = align;
  pen.textBaseline = 'middle';
  pen.fillText(cut, x, y);
}

function roundBox(x, y, w, h, radius) {
  pen.beginPath();
  pen.roundRect(x, y, w, h, radius);
}

// --- boxes

function isUnitDimmed(unit) {
  if (look.only === null) return false;
  for (let row = unit.row; row < unit.row + unit.rows; ++row) if (look.only(row)) return false;
  return true;
}

function outline(box, radius, isPicked, isOver) {
  if (!isPicked && !isOver) return;
  pen.lineWidth = (isPicked ? 2.5 : 1.5) / Math.min(camera.scale, 1);
  pen.strokeStyle = isPicked ? colours.pick : colours.muted;
  roundBox(box.x - 1, box.y - 1, box.w + 2, box.h + 2, radius + 1);
  pen.stroke();
}

function drawUnit(unit, box, outside) {
  const colour = unitColour(unit), scale = camera.scale;
  pen.globalAlpha = isUnitDimmed(unit) ? 0.16 : 1;
  if (scale < 0.3) {
    pen.fillStyle = colour;
    pen.fillRect(box.x, box.y, box.w, box.h);
  } else {
    pen.fillStyle = tint(colour, heat.value ? 0.5 : 0.16);
    roundBox(box.x, box.y, box.w, box.h, 5);
    pen.fill();
    pen.lineWidth = 1;
    pen.strokeStyle = tint(colour, 0.55);
    pen.stroke();
    pen.fillStyle = colour;
    roundBox(box.x, box.y, 5, box.h, [5, 0, 0, 5]);
    pen.fill();
    const middle = box.x + box.w / 2 + 2, width = box.w - 16;
    if (scale >= 0.62) {
      write(unit.title, middle, box.y + 14, width, 12, 600, colours.ink);
      write(text(ops.name[unit.row + unit.rows - 1]), middle, box.y + 28.5, width, 10.5, 400, heat.value ? colours.ink : colours.muted);
    } else {
      write(unit.title, middle, box.y + box.h / 2, width, sizeFor(unit.title, width, 550, Math.min(19, 9 / scale)), 550, colours.ink);
    }
    if (outside && scale >= 0.45) drawStubs(box, outside, colours.muted);
  }
  outline(box, 5, look.picked && look.picked.unit === unit, look.over && look.over.unit === unit);
  pen.globalAlpha = 1;
}

// A tick where a tensor comes from, or goes to, beyond the open box.
function drawStubs(box, outside, colour) {
  pen.fillStyle = colour;
  const x = box.x + box.w / 2;
  pen.beginPath();
  if (outside & 1) { pen.moveTo(x - 4, box.y - 7); pen.lineTo(x + 4, box.y - 7); pen.lineTo(x, box.y - 1.5); }
  if (outside & 2) { pen.moveTo(x - 4, box.y + box.h + 1.5); pen.lineTo(x + 4, box.y + box.h + 1.5); pen.lineTo(x, box.y + box.h + 7); }
  pen.fill();
}

function isGroupDimmed(group) {
  if (look.only === null) return false;
  return !group.list.some(look.only);
}

function drawClosed(group, box, outside) {
  const colour = groupColour(group), scale = camera.scale;
  pen.globalAlpha = isGroupDimmed(group) ? 0.16 : 1;
  const isRepeat = group.kind === RepeatGroup;
  if (isRepeat) // the turns behind the first
    for (const back of [6, 3]) {
      pen.fillStyle = tint(colour, 0.1);
      pen.strokeStyle = tint(colour, 0.5);
      pen.lineWidth = 1;
      roundBox(box.x + back, box.y + back, box.w, box.h, 7);
      pen.fill();
      pen.stroke();
    }
  pen.fillStyle = tint(colour, scale < 0.3 ? 0.6 : 0.22);
  roundBox(box.x, box.y, box.w, box.h, 7);
  pen.fill();
  pen.lineWidth = 1.5;
  pen.strokeStyle = colour;
  pen.stroke();
  const size = Math.round(Math.min(26, Math.max(13, 9.5 / scale)));
  if (size * scale >= 7) {
    const rows = countText(group.rows, 'operator');
    const title = isRepeat ? '×' + group.turns : groupTitle(group);
    if (scale >= 0.55) {
      write(title, box.x + box.w / 2, box.y + 20, box.w - 26, isRepeat ? 16 : 13, 650, colours.ink);
      const flops = sumOver(group, row => ops.flops[row]);
      write((isRepeat ? rows + ' each' : rows) + (flops > 0 ? ' · ' + flopsText(flops) : ''), box.x + box.w / 2, box.y + 38, box.w - 16, 11, 400, colours.muted);
      write('+', box.x + box.w - 11, box.y + 11, 14, 14, 500, colours.muted);
    } else {
      write(title, box.x + box.w / 2, box.y + box.h / 2, box.w - 10, sizeFor(title, box.w - 10, 600, size), 600, colours.ink);
    }
  }
  outline(box, 7, look.picked && look.picked.group === group, look.over && look.over.group === group);
  pen.globalAlpha = 1;
}

function drawOpen(group, box) {
  const colour = groupColour(group), size = Math.round(Math.min(40, Math.max(13, 11 / camera.scale)));
  pen.fillStyle = tint(colour, 0.07);
  pen.strokeStyle = tint(colour, 0.75);
  pen.lineWidth = 1.5;
  pen.setLineDash(group.kind === RepeatGroup ? [6, 4] : []);
  roundBox(box.x, box.y, box.w, box.h, 9);
  pen.fill();
  pen.stroke();
  pen.setLineDash([]);
  const title = group.kind === RegionGroup ? groupTitle(group) : '×' + group.turns + ', one of them';
  write(title, box.x + 14, box.y + headHeight / 2, box.w - 50, Math.min(size, headHeight - 8), 650, colours.ink, 'left');
  if (camera.scale > 0.4) write('−', box.x + box.w - 14, box.y + 15, 18, 17, 500, colours.muted);
  outline(box, 9, look.picked && look.picked.group === group, look.over && look.over.group === group);
}

function drawPort(child, box) {
  const [name, type] = (child.kind === InputChild ? data.inputs : data.outputs)[child.index];
  pen.fillStyle = colours.panel;
  pen.strokeStyle = colours.muted;
  pen.lineWidth = 1.2;
  roundBox(box.x, box.y, box.w, box.h, box.h / 2);
  pen.fill();
  pen.stroke();
  if (camera.scale >= 0.35) write(name, box.x + box.w / 2, box.y + box.h / 2, box.w - 14, Math.round(Math.min(17, Math.max(11, 8.5 / camera.scale))), 500, colours.ink);
  outline(box, box.h / 2, look.picked && look.picked.port === child, look.over && look.over.port === child);
}

// --- edges

function drawEdges(group, view) {
  const paths = pathsOf(group), thin = 1 / camera.scale;
  const isNear = camera.scale >= 0.3;
  pen.lineCap = 'round';
  pen.globalAlpha = look.only ? 0.3 : 1;
  if (!isNear) {
    pen.lineWidth = thin * 0.55;
    pen.strokeStyle = colours.edge;
    pen.globalAlpha *= 0.8;
    pen.stroke(paths.plain);
    pen.strokeStyle = colours.cross;
    pen.stroke(paths.crossing);
    pen.globalAlpha *= 0.35;
    pen.strokeStyle = colours.edge;
    pen.stroke(paths.loose);
    pen.globalAlpha = 1;
    return;
  }
  for (const drawn of paths.edges) {
    if (!drawn.isFolded && (drawn.y1 < view.y0 || drawn.y0 > view.y1 || drawn.x1 < view.x0 || drawn.x0 > view.x1)) continue;
    const edge = drawn.edge;
    pen.lineWidth = 0.9 + Math.min(2.2, Math.log10(1 + edge.bytes / 2048) * 0.6);
    pen.strokeStyle = edge.crosses ? colours.cross : colours.edge;
    pen.globalAlpha = (look.only ? 0.3 : 1) * (drawn.isLoose ? 0.4 : 1);
    pen.setLineDash(drawn.isBack ? [5, 4] : []);
    pen.stroke(drawn.path);
  }
  pen.setLineDash([]);
  pen.globalAlpha = 1;
  const picked = look.picked && look.picked.inGroup === group ? look.picked.childAt : -1;
  if (picked >= 0) {
    pen.strokeStyle = colours.accent;
    pen.lineWidth = 2.4;
    for (const drawn of paths.edges) if (drawn.edge.from === picked || drawn.edge.to === picked) pen.stroke(drawn.path);
  }
  if (camera.scale >= 0.7) drawLabels(paths, view, picked);
}

function drawLabels(paths, view, picked) {
  for (const drawn of paths.edges) {
    const { label, edge } = drawn;
    if (!label || label.x < view.x0 || label.x > view.x1 || label.y < view.y0 || label.y > view.y1) continue;
    if (!drawn.hasLabel || (drawn.isLoose && edge.from !== picked && edge.to !== picked)) continue;
    const words = edge.bytes === 0 && edge.isOpen ? '?' : bytesText(edge.bytes) + (edge.isOpen ? ' + ?' : '');
    pen.font = `400 9.5px ${font}`;
    const width = pen.measureText(words).width;
    pen.fillStyle = colours.ground;
    pen.globalAlpha = 0.85;
    pen.fillRect(label.x - width / 2 - 2, label.y - 6, width + 4, 12);
    pen.globalAlpha = 1;
    write(words, label.x, label.y, 120, 9.5, 400, edge.crosses ? colours.ink : colours.muted);
  }
}

// --- the whole

function drawGroup(entry, view) {
  const { group } = entry;
  pen.save();
  pen.translate(entry.x, entry.y);
  const local = { x0: view.x0 - entry.x, y0: view.y0 - entry.y, x1: view.x1 - entry.x, y1: view.y1 - entry.y };
  group.children.forEach((child, number) => { // open ones lie under the edges
    if (child.kind === GroupChild && groups[child.index].isOpen) drawOpen(groups[child.index], group.place.boxes[number]);
  });
  drawEdges(group, local);
  group.children.forEach((child, number) => {
    const box = group.place.boxes[number];
    if (box.x > local.x1 || box.y > local.y1 || box.x + box.w < local.x0 || box.y + box.h < local.y0) return;
    const outside = group.number > 0 ? child.outside : 0;
    if (child.kind === UnitChild) drawUnit(units[child.index], box, outside);
    else if (child.kind !== GroupChild) drawPort(child, box);
    else if (!groups[child.index].isOpen) drawClosed(groups[child.index], box, outside);
  });
  pen.restore();
}

function draw() {
  isAsked = false;
  const ratio = window.devicePixelRatio || 1, w = stage.clientWidth, h = stage.clientHeight;
  if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(h * ratio)) {
    canvas.width = Math.round(w * ratio);
    canvas.height = Math.round(h * ratio);
  }
  pen.setTransform(1, 0, 0, 1, 0, 0);
  pen.fillStyle = colours.ground;
  pen.fillRect(0, 0, canvas.width, canvas.height);
  const k = camera.scale * ratio;
  pen.setTransform(k, 0, 0, k, -camera.x * k, -camera.y * k);
  const view = { x0: camera.x - 20, y0: camera.y - 20, x1: camera.x + w / camera.scale + 20, y1: camera.y + h / camera.scale + 20 };
  for (const entry of scene) drawGroup(entry, view);
}
function redraw() {
  if (!isAsked) requestAnimationFrame(draw);
  isAsked = true;
}

// --- the camera

function arrange() { // after boxes have opened or closed
  placeGroup(groups[0]);
  scene = openGroups();
  redraw();
}
const margins = { left: 28, right: 28, top: 52, bottom: 28 };
// The world's rectangle in the middle of what neither tools nor legend cover.
function show(x, y, w, h, margin = margins) {
  const width = stage.clientWidth - margin.left - margin.right, height = stage.clientHeight - margin.top - margin.bottom;
  camera.scale = Math.max(0.005, Math.min(1.25, width / Math.max(w, 1), height / Math.max(h, 1)));
  camera.x = x + w / 2 - (margin.left + width / 2) / camera.scale;
  camera.y = y + h / 2 - (margin.top + height / 2) / camera.scale;
  redraw();
}
// Above or beside the legend if something would lie under it, whichever is larger.
function showAll() {
  const { w, h } = groups[0].place, legend = document.getElementById('legend');
  show(0, 0, w, h);
  const right = legend.offsetLeft + legend.offsetWidth + 14, top = legend.offsetTop - 14;
  const isUnder = scene.some(entry => entry.group.place.boxes.some(box =>
    (entry.x + box.x - camera.x) * camera.scale < right && (entry.y + box.y + box.h - camera.y) * camera.scale > top));
  if (legend.hidden || !isUnder) return;
  show(0, 0, w, h, { ...margins, bottom: stage.clientHeight - top });
  const scale = camera.scale;
  show(0, 0, w, h, { ...margins, left: right });
  if (camera.scale < scale) show(0, 0, w, h, { ...margins, bottom: stage.clientHeight - top });
}
function zoomAt(x, y, factor) {
  const scale = Math.max(0.005, Math.min(4, camera.scale * factor));
  camera.x += x / camera.scale - x / scale;
  camera.y += y / camera.scale - y / scale;
  camera.scale = scale;
  redraw();
}

// --- what is where

function hit(screenX, screenY) {
  const x = camera.x + screenX / camera.scale, y = camera.y + screenY / camera.scale;
  for (let i = scene.length; i-- > 0;) {
    const { group, x: left, y: top } = scene[i];
    for (let number = 0; number < group.children.length; ++number) {
      const box = group.place.boxes[number], child = group.children[number];
      if (x < left + box.x || x > left + box.x + box.w || y < top + box.y || y > top + box.y + box.h) continue;
      const found = { inGroup: group, childAt: number };
      if (child.kind === UnitChild) return { ...found, unit: units[child.index] };
      if (child.kind !== GroupChild) return { ...found, port: child };
      const inner = groups[child.index];
      return { ...found, group: inner, isHead: !inner.isOpen || y < top + box.y + headHeight };
    }
  }
  return null;
}
// World rectangle of a child, if all that it is in is open.
function boxOf(group, childAt) {
  const entry = scene.find(it => it.group === group);
  if (!entry) return null;
  const box = group.place.boxes[childAt];
  return { x: entry.x + box.x, y: entry.y + box.y, w: box.w, h: box.h };
}
