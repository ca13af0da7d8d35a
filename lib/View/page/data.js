'use strict';
// What the page was made of, as the compiler wrote it (lib/View/ViewPage.cpp), and questions
// about it. A row is an operator; a unit is one or, for a composite, several; a group is a
// box: the root, a region, or one turn of something that repeats.

const data = JSON.parse(document.getElementById('data').textContent);
const ops = data.ops;
const numRows = ops.name.length;
const text = number => number < 0 ? '' : data.strings[number];
const RootGroup = 0, RegionGroup = 1, RepeatGroup = 2;        // kinds of groups
const InputChild = 0, UnitChild = 1, GroupChild = 2, OutputChild = 3; // of children
const FromOperator = 0, FromInput = 1, FromConstant = 2;      // of what a row reads

const units = [];
for (let i = 0; i < data.units.length; i += 3)
  units.push({ row: data.units[i], rows: data.units[i + 1], group: data.units[i + 2], title: text(data.unitTitles[i / 3]) });
const unitOfRow = new Int32Array(numRows).fill(-1);
units.forEach((unit, number) => {
  for (let row = unit.row; row < unit.row + unit.rows; ++row) unitOfRow[row] = number;
});

const groups = data.groups.map((group, number) => {
  const children = [];
  for (let i = 0; i < group.children.length; i += 3)
    children.push({ kind: group.children[i], index: group.children[i + 1], outside: group.children[i + 2] });
  const edges = [];
  for (let i = 0; i < group.edges.length; i += 5)
    edges.push({ from: group.edges[i], to: group.edges[i + 1], bytes: group.edges[i + 2], tensors: group.edges[i + 3],
                 crosses: (group.edges[i + 4] & 1) > 0, isOpen: (group.edges[i + 4] & 2) > 0 });
  return { ...group, number, children, edges, isOpen: number === 0 };
});
for (const group of groups)
  group.children.forEach((child, at) => {
    if (child.kind === GroupChild) groups[child.index].childAt = at;
    if (child.kind === UnitChild) units[child.index].childAt = at;
  });

// Its rows, of one turn.
for (const group of [...groups].reverse()) { // inner ones come after outer ones
  group.list = [];
  for (const child of group.children)
    if (child.kind === GroupChild) for (const row of groups[child.index].list) group.list.push(row);
    else if (child.kind === UnitChild) for (let i = 0; i < units[child.index].rows; ++i) group.list.push(units[child.index].row + i);
  group.list.sort((a, b) => a - b);
}

// --- what rows read, and who reads them

const readsBegin = new Uint32Array(numRows + 1);
data.edges.count.forEach((count, row) => { readsBegin[row + 1] = readsBegin[row] + count; });
function readsOf(row) {
  const list = [];
  for (let i = readsBegin[row]; i < readsBegin[row + 1]; ++i)
    list.push({ kind: data.edges.flat[3 * i], index: data.edges.flat[3 * i + 1], type: data.edges.flat[3 * i + 2] });
  return list;
}
const readersOf = (() => {
  const readers = Array.from({ length: numRows }, () => []);
  for (let row = 0; row < numRows; ++row)
    for (const read of readsOf(row))
      if (read.kind === FromOperator && !readers[read.index].includes(row)) readers[read.index].push(row);
  return row => readers[row];
})();

// --- turns: rows of later ones are drawn as those of the first

function drawnRow(row) {
  while (ops.first[row] !== row) row = ops.first[row];
  return row;
}
const turnsOf = (() => { // by drawn row: all rows that it stands for
  const turns = new Map();
  for (let row = 0; row < numRows; ++row) {
    const drawn = drawnRow(row);
    if (!turns.has(drawn)) turns.set(drawn, []);
    turns.get(drawn).push(row);
  }
  return row => turns.get(drawnRow(row));
})();
const unitOf = row => unitOfRow[drawnRow(row)];
function turnsOfGroup(group) {
  let turns = 1;
  for (let g = group; g.number > 0; g = groups[g.parent]) turns *= g.turns;
  return turns;
}

// --- sums

const isHost = row => ops.place[row] === 0;
// Of one turn; with what is in it as often as it comes.
function sumOver(group, value) {
  let sum = 0;
  for (const child of group.children)
    if (child.kind === GroupChild) sum += groups[child.index].turns * sumOver(groups[child.index], value);
    else if (child.kind === UnitChild) for (let i = 0; i < units[child.index].rows; ++i) sum += value(units[child.index].row + i);
  return sum;
}
// An estimate is of a unit: it counts once.
const isFirstOfUnit = row => row === 0 || ops.unit[row - 1] !== ops.unit[row];
const estimateOf = row => isFirstOfUnit(row) && ops.estimate[row] >= 0 ? ops.estimate[row] : 0;
const hasEstimates = ops.estimate.some(us => us >= 0);

const timingOfRow = new Int32Array(numRows).fill(-1);
const timingOfRegion = new Map();
data.timings.forEach((timing, number) => {
  if (timing.region && !timing.isStep) { timingOfRegion.set(timing.region, number); return; }
  for (const row of timing.rows)
    if (timingOfRow[row] < 0 || timing.isStep === (ops.region[row] >= 0)) timingOfRow[row] = number;
});
// Of all rows, each kernel once; -1 where none is known.
function measuredOf(rows) {
  const kernels = new Set(rows.map(row => timingOfRow[row]).filter(number => number >= 0));
  return kernels.size > 0 ? [...kernels].reduce((sum, number) => sum + data.timings[number].us, 0) : -1;
}
const hasTimings = data.timings.length > 0;
// Regions, and kernels of the host, once each.
const measuredTotal = data.timings.filter(timing => !timing.isStep).reduce((sum, timing) => sum + timing.us, 0);

// --- as people read it

function bytesText(bytes) {
  if (bytes < 0) return 'size known at run time';
  if (bytes < 1024) return bytes + ' B';
  const units = ['KiB', 'MiB', 'GiB', 'TiB'];
  let unit = -1;
  while (bytes >= 1024 && unit < 3) { bytes /= 1024; ++unit; }
  return (bytes < 100 ? bytes.toFixed(1) : Math.round(bytes)) + ' ' + units[unit];
}
function flopsText(flops) {
  if (flops < 1000) return Math.round(flops) + ' FLOP';
  const units = ['k', 'M', 'G', 'T', 'P'];
  let unit = -1;
  while (flops >= 1000 && unit < 4) { flops /= 1000; ++unit; }
  return (flops < 100 ? flops.toFixed(1) : Math.round(flops)) + ' ' + units[unit] + 'FLOP';
}
function timeText(us) {
  if (us < 1000) return Number(us.toPrecision(3)) + ' µs';
  if (us < 1e6) return (us / 1000).toFixed(us < 1e5 ? 2 : 1) + ' ms';
  return (us / 1e6).toFixed(2) + ' s';
}
const countText = (count, what) => count.toLocaleString('en') + ' ' + what + (count === 1 ? '' : 's');
const percentText = (part, all) => all > 0 ? (100 * part / all).toFixed(1) + ' %' : '0 %';
// "Tensor[(1, 64), float32]" -> "1×64 float32"
function typeText(type) {
  const full = text(data.types[type]);
  return full.replace(/Tensor\[\(([^)]*(?:\([^)]*\)[^)]*)*)\), ([^\]]*)\]/g, (all, dims, rest) =>
    (dims.replace(/,\s*$/, '').replace(/, /g, '×') || 'scalar') + ' ' + rest);
}
const regionTitle = region => data.regions[region].symbol;
function groupTitle(group) {
  return group.kind === RegionGroup ? regionTitle(group.region) : '×' + group.turns;
}
