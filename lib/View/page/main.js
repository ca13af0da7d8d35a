'use strict';
// Choosing, searching, keys, and what the part after # in the address asks for:
//   #select=NODE   #open=REGION,REGION   #pane=plan|node|prices|passes|memory|time
//   #find=TEXT     #colour=estimate      parts are joined by &

const panes = { plan: ['Plan', planPane], node: ['Node', pickedPane], prices: ['Prices', pricesPane], passes: ['Passes', passesPane],
                memory: ['Memory', memoryPane], time: ['Time', timePane] };
let openPane = 'plan';

function showPane(name) {
  openPane = name;
  const tabs = document.getElementById('tabs'), pane = document.getElementById('pane');
  tabs.replaceChildren(...Object.entries(panes).map(([key, [title]]) =>
    make('button', { role: 'tab', 'data-pane': key, 'aria-selected': key === name, onclick: () => showPane(key) }, title)));
  pane.dataset.pane = name;
  pane.replaceChildren(...panes[name][1]().flat(Infinity).filter(part => part));
  pane.scrollTop = 0;
}

// --- choosing

function openAround(group) {
  let changed = false;
  for (let g = group; g.number > 0; g = groups[g.parent]) {
    changed = changed || !g.isOpen;
    g.isOpen = true;
  }
  if (changed) arrange();
}
function bring(box, isClose) { // into sight, moving no more than needed
  if (!box) return;
  const w = stage.clientWidth, h = stage.clientHeight;
  const left = (box.x - camera.x) * camera.scale, top = (box.y - camera.y) * camera.scale;
  const isSeen = left > 20 && top > 50 && left + box.w * camera.scale < w - 20 && top + box.h * camera.scale < h - 20;
  if (isSeen && (!isClose || camera.scale > 0.5)) return;
  if (isClose || camera.scale < 0.4) camera.scale = Math.max(camera.scale, 0.85);
  camera.x = box.x + box.w / 2 - w / 2 / camera.scale;
  camera.y = box.y + box.h / 2 - h / 2 / camera.scale;
}
function pickRow(row, isClose) {
  const unit = units[unitOf(row)], group = groups[unit.group];
  openAround(group);
  look.picked = { unit, row, inGroup: group, childAt: unit.childAt };
  bring(boxOf(group, unit.childAt), isClose);
  showPane('node');
  redraw();
}
function pickGroup(group) {
  const parent = groups[group.parent];
  openAround(parent);
  look.picked = { group, inGroup: parent, childAt: group.childAt };
  showPane('node');
  redraw();
}
function pickRegion(region) {
  let row = ops.region.indexOf(region);
  if (row < 0) return;
  row = drawnRow(row);
  let group = groups[units[unitOfRow[row]].group];
  while (group.kind !== RegionGroup && group.number > 0) group = groups[group.parent];
  pickGroup(group);
  bring(boxOf(groups[group.parent], group.childAt), true);
}
// The box keeps its head where it is.
function toggle(group) {
  const before = boxOf(groups[group.parent], group.childAt);
  group.isOpen = !group.isOpen;
  arrange();
  const after = boxOf(groups[group.parent], group.childAt);
  if (before && after) {
    camera.x += after.x + after.w / 2 - before.x - before.w / 2;
    camera.y += after.y - before.y;
  }
  pickGroup(group);
  if (group.isOpen) { // all of it in sight, if it can be read then
    const w = stage.clientWidth, h = stage.clientHeight, fits = Math.min((w - 60) / after.w, (h - 90) / after.h);
    if (camera.scale > fits || camera.scale < 0.45) camera.scale = Math.max(Math.min(fits, 1), 0.02);
    const left = (after.x - camera.x) * camera.scale, top = (after.y - camera.y) * camera.scale;
    if (left < 20 || left + after.w * camera.scale > w - 20) camera.x = after.x + after.w / 2 - w / 2 / camera.scale;
    if (top < 50 || top + after.h * camera.scale > h - 20) camera.y = after.y + Math.min(after.h, (h - 90) / camera.scale) / 2 - h / 2 / camera.scale;
  }
}
function setAll(isOpen) {
  for (const group of groups) if (group.number > 0) group.isOpen = isOpen;
  arrange();
  showAll();
}
function clearPick() {
  look.picked = null;
  if (look.only) showOnly(null);
  if (openPane === 'node') showPane('plan');
  redraw();
}

// --- legend

let onlyKey = '';
function showOnly(what, value) {
  const key = what + ' ' + value;
  look.only = what === null || key === onlyKey ? null : what === 'kind' ? row => isHost(row) && (value < maxKinds || ops.kind[row] < maxKinds ? ops.kind[row] === value : true)
                                                                        : row => ops.place[row] === value;
  onlyKey = look.only ? key : '';
  drawLegend();
  redraw();
}
function legendRows() {
  const places = new Array(data.places.length).fill(0), kinds = new Map();
  for (let row = 0; row < numRows; ++row)
    if (!isHost(row)) ++places[ops.place[row]];
    else kinds.set(Math.min(ops.kind[row], maxKinds), (kinds.get(Math.min(ops.kind[row], maxKinds)) || 0) + 1);
  const rows = [];
  places.forEach((count, place) => { if (count > 0) rows.push({ what: 'place', value: place, colour: colourOfPlace(place), words: data.places[place], count }); });
  for (const [kind, count] of [...kinds].sort((a, b) => (a[0] < 0) - (b[0] < 0) || a[0] - b[0])) {
    const others = data.reasonKinds.length - maxKinds;
    const words = kind < 0 ? 'host' : kind < maxKinds || others === 1 ? 'host: ' + data.reasonKinds[kind] : `host: ${others} other reasons`;
    rows.push({ what: 'kind', value: kind, colour: colourOfKind(kind), words, count });
  }
  return rows;
}
function drawLegend() {
  const legend = document.getElementById('legend');
  if (heat.value) {
    const stops = [0, 1, 2, 3, 4].map(i => colours['heat' + i]).join(',');
    const most = look.colour === 'flops' ? flopsText(heat.most) : timeText(heat.most);
    legend.replaceChildren(make('div', { class: 'scale', style: `background:linear-gradient(90deg,${stops})` }),
                           make('div', { class: 'ends' }, make('span', {}, '0'), make('span', {}, most)));
    return;
  }
  legend.replaceChildren(...legendRows().map(row => make('button',
    { title: row.words, class: onlyKey === row.what + ' ' + row.value ? 'on' : '', onclick: () => showOnly(row.what, row.value) },
    make('i', { style: 'background:' + row.colour }), make('span', { class: 'what' }, row.words), make('span', { class: 'count' }, row.count.toLocaleString('en')))));
  legend.hidden = numRows === 0;
}

// --- search

const find = document.getElementById('find'), found = document.getElementById('found');
let matches = [], matchAt = 0;
const haystack = (() => {
  let lines = null;
  return () => lines = lines || Array.from({ length: numRows }, (_, row) =>
    [ops.name[row], ops.op[row], ops.composite[row], ops.symbol[row], ops.source[row]].map(text).join('\n').toLowerCase());
})();
function search() {
  const words = find.value.trim().toLowerCase();
  matches = [];
  if (words) {
    data.regions.forEach((region, i) => { if (region.symbol.toLowerCase().includes(words)) matches.push({ region: i }); });
    const lines = haystack(), best = [], others = [];
    for (let row = 0; row < numRows; ++row) {
      const name = text(ops.name[row]).toLowerCase();
      if (name === words) best.unshift({ row });
      else if (name.startsWith(words)) best.push({ row });
      else if (lines[row].includes(words)) others.push({ row });
    }
    matches.push(...best, ...others);
    if (best.length && text(ops.name[best[0].row]).toLowerCase() === words) matches.sort((a, b) => (b.row === best[0].row) - (a.row === best[0].row));
  }
  matchAt = 0;
  const hits = new Set(matches.filter(match => match.row !== undefined).map(match => match.row));
  onlyKey = '';
  look.only = words && hits.size > 0 ? row => turnsOf(row).some(turn => hits.has(turn)) : null;
  listMatches(words);
  drawLegend();
  redraw();
}
function listMatches(words) {
  found.hidden = !words;
  const most = 60;
  found.replaceChildren(...matches.slice(0, most).map((match, i) => make('li', { class: i === matchAt ? 'at' : '', onmousedown: event => { event.preventDefault(); go(i); } },
    match.region !== undefined ? [make('b', {}, data.regions[match.region].symbol), make('span', {}, 'region of ' + data.regions[match.region].vendor)]
                               : [make('b', {}, text(ops.name[match.row])), make('span', {}, text(ops.op[match.row]) + ' · ' + data.places[ops.place[match.row]])])));
  if (words && matches.length === 0) found.append(make('li', { class: 'none' }, 'nothing is called that'));
  if (matches.length > most) found.append(make('li', { class: 'none' }, `and ${(matches.length - most).toLocaleString('en')} more`));
}
function go(i) {
  const match = matches[i];
  if (!match) return;
  found.hidden = true;
  find.blur();
  if (match.region !== undefined) pickRegion(match.region);
  else pickRow(match.row, true);
}
find.addEventListener('input', search);
find.addEventListener('focus', () => { if (find.value) search(); });
find.addEventListener('blur', () => { found.hidden = true; });
find.addEventListener('keydown', event => {
  if (event.key === 'Enter') go(matchAt);
  else if (event.key === 'Escape') { find.value = ''; search(); find.blur(); }
  else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
    matchAt = Math.max(0, Math.min(Math.min(matches.length, 60) - 1, matchAt + (event.key === 'ArrowDown' ? 1 : -1)));
    listMatches(find.value);
    if (found.children[matchAt]) found.children[matchAt].scrollIntoView({ block: 'nearest' });
    event.preventDefault();
  }
  event.stopPropagation();
});

// --- mouse and keys

const tip = document.getElementById('tip');
let drag = null;
function tipOf(over) {
  if (over.unit) {
    const row = over.unit.row, kind = ops.kind[row];
    const why = isHost(row) && kind >= 0 ? '\n' + data.reasonKinds[kind] : '';
    return `${over.unit.title}  ${text(ops.name[row + over.unit.rows - 1])}\n${typeText(ops.type[row + over.unit.rows - 1])} · ${data.places[ops.place[row]]}${why}`;
  }
  if (over.port) return (over.port.kind === InputChild ? data.inputs : data.outputs)[over.port.index].join('  ');
  return `${groupTitle(over.group)}  ${countText(over.group.rows, 'operator')}${over.group.kind === RepeatGroup ? ' each' : ''}\n${over.group.isOpen ? 'click to close' : 'click to open'}`;
}
function hover(event) {
  const over = hit(event.offsetX, event.offsetY), old = look.over;
  look.over = over && (over.unit || over.port || over.isHead) ? over : null;
  canvas.classList.toggle('over', !!look.over);
  tip.hidden = !look.over;
  if (look.over) {
    tip.textContent = tipOf(look.over);
    tip.style.left = Math.min(event.offsetX + 14, stage.clientWidth - tip.offsetWidth - 6) + 'px';
    tip.style.top = (event.offsetY + 20 + tip.offsetHeight > stage.clientHeight ? event.offsetY - tip.offsetHeight - 8 : event.offsetY + 20) + 'px';
  }
  const key = it => it && (it.unit || it.port || it.group);
  if (key(old) !== key(look.over)) redraw();
}
function click(event) {
  const at = hit(event.offsetX, event.offsetY);
  if (at && at.unit) pickRow(at.unit.row, false);
  else if (at && at.port) { look.picked = at; showPane('node'); redraw(); }
  else if (at && at.isHead) toggle(at.group);
  else clearPick();
}
canvas.addEventListener('pointerdown', event => {
  stage.focus({ preventScroll: true });
  drag = { x: event.offsetX, y: event.offsetY, moved: false };
  canvas.setPointerCapture(event.pointerId);
});
canvas.addEventListener('pointermove', event => {
  if (!drag) { hover(event); return; }
  const dx = event.offsetX - drag.x, dy = event.offsetY - drag.y;
  if (!drag.moved && Math.hypot(dx, dy) < 4) return;
  drag.moved = true;
  tip.hidden = true;
  canvas.classList.add('dragged');
  camera.x -= dx / camera.scale;
  camera.y -= dy / camera.scale;
  drag.x = event.offsetX;
  drag.y = event.offsetY;
  redraw();
});
canvas.addEventListener('pointerup', event => {
  if (drag && !drag.moved) click(event);
  drag = null;
  canvas.classList.remove('dragged');
});
canvas.addEventListener('pointerleave', () => { tip.hidden = true; if (look.over) { look.over = null; redraw(); } });
canvas.addEventListener('wheel', event => {
  event.preventDefault();
  if (event.shiftKey) { camera.x += event.deltaY / camera.scale; redraw(); return; }
  zoomAt(event.offsetX, event.offsetY, Math.exp(-Math.max(-120, Math.min(120, event.deltaY)) * 0.0022));
}, { passive: false });

const deeds = { in: () => zoomAt(stage.clientWidth / 2, stage.clientHeight / 2, 1.3), out: () => zoomAt(stage.clientWidth / 2, stage.clientHeight / 2, 1 / 1.3),
                fit: showAll, open: () => setAll(true), close: () => setAll(false) };
for (const button of document.querySelectorAll('#tools button')) button.addEventListener('click', deeds[button.dataset.do]);
const keys = { '+': deeds.in, '=': deeds.in, '-': deeds.out, '0': deeds.fit, e: deeds.open, c: deeds.close, Escape: clearPick,
               ArrowLeft: () => pan(-80, 0), ArrowRight: () => pan(80, 0), ArrowUp: () => pan(0, -80), ArrowDown: () => pan(0, 80),
               Enter: () => { if (look.picked && look.picked.group) toggle(look.picked.group); } };
function pan(dx, dy) {
  camera.x += dx / camera.scale;
  camera.y += dy / camera.scale;
  redraw();
}
document.addEventListener('keydown', event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === '/') { find.focus(); find.select(); event.preventDefault(); return; }
  const isArrow = event.key.startsWith('Arrow'), isTyping = ['INPUT', 'SELECT', 'A', 'BUTTON'].includes(document.activeElement.tagName);
  if (!keys[event.key] || (isTyping && event.key !== 'Escape') || (isArrow && document.activeElement.id === 'pane')) return;
  keys[event.key]();
  event.preventDefault();
});

// --- begin

function fillHead() {
  const totals = data.totals, estimate = totals.estimate;
  document.querySelector('h1').textContent = data.title;
  document.querySelector('#name p').textContent = `${countText(totals.ops, 'operator')} · ${data.cpu || data.triple}`;
  const fact = (value, words) => make('div', { class: 'fact' }, make('b', {}, value), make('span', {}, words));
  document.getElementById('facts').replaceChildren(
      ...[fact(totals.flops > 0 ? percentText(totals.offloadedFlops, totals.flops) : '0 %',
               'of FLOPs offloaded'),
          estimate
              ? fact(timeText(estimate.us), estimate.us < estimate.host_us
                                                ? `estimated, host ${timeText(estimate.host_us)}`
                                                : 'estimated')
              : null,
          hasTimings ? fact(timeText(measuredTotal), 'one measured run') : null,
          fact(totals.regions.toLocaleString('en'), totals.regions === 1 ? 'region' : 'regions'),
          fact(!totals.hasRunTimeSizes ? bytesText(totals.bytes)
               : totals.bytes > 0      ? '≥ ' + bytesText(totals.bytes)
                                       : 'open sizes',
               'crosses the boundary'),
  ].filter(part => part));
}
function fillColours() {
  const select = document.getElementById('colour');
  const choices = [['place', 'place, reason'], ['flops', 'FLOPs'], hasEstimates && ['estimate', 'estimate'], hasTimings && ['measured', 'measured']];
  select.replaceChildren(...choices.filter(Boolean).map(([value, words]) => make('option', { value }, words)));
  select.addEventListener('change', () => setColour(select.value));
}
function setColour(value) {
  look.colour = value;
  document.getElementById('colour').value = value;
  chooseHeat();
  drawLegend();
  redraw();
}
// Few boxes say little: what they hold is shown at once, as far as it is legible.
function openFew() {
  for (let round = 0; round < 4; ++round) {
    const closed = openGroups().flatMap(entry => entry.group.children).filter(child => child.kind === GroupChild && !groups[child.index].isOpen);
    const shown = openGroups().reduce((count, entry) => count + entry.group.children.length, 0);
    const next = closed.map(child => groups[child.index]).filter(group => shown + group.children.length <= 36).sort((a, b) => b.rows * b.turns - a.rows * a.turns)[0];
    if (!next || shown > 14) return;
    next.isOpen = true;
    placeGroup(groups[0]);
  }
}
function obey(hash) {
  // Names of Relay text begin with %: as they stand they are as good as encoded.
  const parts = new Map(hash.replace(/^#/, '').split('&').map(part => [part.replace(/=.*$/, ''), part.replace(/^[^=]*=?/, '')]));
  const decoded = words => { try { return decodeURIComponent(words); } catch { return words; } };
  const asked = { get: key => parts.get(key) === undefined ? '' : rowOfName(parts.get(key)) >= 0 ? parts.get(key) : decoded(parts.get(key)) };
  if (asked.get('colour')) setColour(asked.get('colour'));
  for (const symbol of (asked.get('open') || '').split(',').filter(Boolean)) {
    const region = data.regions.findIndex(it => it.symbol === symbol);
    if (region >= 0) { pickRegion(region); if (look.picked.group && !look.picked.group.isOpen) toggle(look.picked.group); }
  }
  if (asked.get('select') && rowOfName(asked.get('select')) >= 0) pickRow(rowOfName(asked.get('select')), true);
  if (asked.get('find')) { find.value = asked.get('find'); search(); found.hidden = true; }
  if (panes[asked.get('pane')]) showPane(asked.get('pane'));
}
// Where a node or a region's box is on the screen, for whoever drives the page.
window.whereIs = name => {
  const row = rowOfName(name), region = data.regions.findIndex(it => it.symbol === name);
  let box = null;
  if (row >= 0) box = boxOf(groups[units[unitOf(row)].group], units[unitOf(row)].childAt);
  else if (region >= 0) {
    let group = groups[units[unitOf(ops.region.indexOf(region))].group];
    while (group.kind !== RegionGroup && group.number > 0) group = groups[group.parent];
    box = boxOf(groups[group.parent], group.childAt);
    if (box) box.h = Math.min(box.h, headHeight);
  }
  if (!box) return null;
  const at = canvas.getBoundingClientRect();
  return { x: at.left + (box.x + box.w / 2 - camera.x) * camera.scale, y: at.top + (box.y + box.h / 2 - camera.y) * camera.scale };
};

readColours();
fillHead();
fillColours();
placeGroup(groups[0]);
openFew();
arrange();
drawLegend();
showAll();
showPane('plan');
obey(location.hash);
window.addEventListener('hashchange', () => obey(location.hash));
new ResizeObserver(redraw).observe(stage);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { readColours(); tints.clear(); drawLegend(); showPane(openPane); redraw(); });
draw();
document.documentElement.dataset.ready = 'yes';
