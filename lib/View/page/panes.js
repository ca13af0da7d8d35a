'use strict';
// The panes beside the graph. All text comes from the data and is set as text, never as
// markup.

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes))
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'style') element.style.cssText = value;
    else element.setAttribute(name, value);
  for (const child of children.flat(Infinity))
    if (child !== null && child !== undefined && child !== false) element.append(child);
  return element;
}
const note = (...words) => make('p', { class: 'note' }, ...words);
const head = words => make('h3', {}, words);
const facts = list => make('dl', {}, list.filter(Boolean).map(([term, value]) => [make('dt', {}, term), make('dd', {}, value)]));
const chip = (words, colour) => make('span', { class: 'chip' }, make('i', { style: 'background:' + colour }), words);
function link(words, run) {
  return make('a', { class: 'to', tabindex: 0, role: 'link', onclick: run, onkeydown: event => { if (event.key === 'Enter') run(); } }, words);
}
const rowLink = row => link(text(ops.name[row]), () => pickRow(row, true));
const regionLink = region => link(regionTitle(region), () => pickRegion(region));
function rowLinks(rows, most = 12) {
  const list = rows.slice(0, most).map((row, i) => [i ? ', ' : '', rowLink(row)]);
  return [list, rows.length > most ? ` and ${rows.length - most} more` : ''];
}
const bar = (parts, most) => make('div', { class: 'bar' }, parts.map(([value, colour]) => make('i', { style: `width:${100 * value / Math.max(most, 1e-12)}%;background:${colour}` })));
function table(columns, rows) {
  const cell = (tag, value, i) => make(tag, columns[i].isNumber ? { class: 'n' } : {}, value);
  return make('table', {}, make('thead', {}, make('tr', {}, columns.map((column, i) => cell('th', column.name, i)))),
              make('tbody', {}, rows.map(row => make('tr', {}, row.map((value, i) => cell('td', value, i))))));
}
const columnOf = name => ({ name }), numberColumn = name => ({ name, isNumber: true });
const notRecorded = what => note(`${what} not recorded in the graph JSON; the page of --emit=html has them.`);

// --- plan

const vendorColour = name => {
  const place = data.places.indexOf(name);
  return place > 0 ? colourOfPlace(place) : colours.none;
};

const hostColour = () => data.reasonKinds.length > 0 ? colours.r0 : colours.none;
function estimatePart(estimate) {
  const most = Math.max(...estimate.parts.map(part => part.operators_us + part.launches_us + part.transfers_us), 0);
  return [
    head('Estimate'),
    make('h2', {}, timeText(estimate.us)),
    facts([['host alone', timeText(estimate.host_us)],
           data.vendors.length > 0 && ['best single', timeText(estimate.best_single_us)],
           ['no plan below', timeText(estimate.bound_us)],
           ['measured', percentText(estimate.measured_share, 1) + ' of it from costs measured here']]),
    estimate.parts.filter(part => part.operators_us + part.launches_us + part.transfers_us > 0).map(part => {
      const colour = part.name === 'host' ? hostColour() : vendorColour(part.name);
      const total = part.operators_us + part.launches_us + part.transfers_us;
      return make('div', { style: 'margin-top:8px' }, make('b', { style: 'font-weight:550' }, part.name), ' ', timeText(total),
                  bar([[part.operators_us, colour], [part.launches_us, tint(colour, 0.6)], [part.transfers_us, tint(colour, 0.3)]], most),
                  make('span', { class: 'note' }, [['operators', part.operators_us], ['launches', part.launches_us], ['transfers', part.transfers_us]]
                    .filter(([, us]) => us > 0).map(([name, us]) => name + ' ' + timeText(us)).join(' · ')));
    }),
  ];
}

// What crosses a border, of which some may be known at run time only.
const crossText = (bytes, isOpen) => !isOpen     ? bytesText(bytes)
                                     : bytes > 0 ? bytesText(bytes) + ' + ?'
                                                 : '?';

function planPane() {
  const totals = data.totals, share = totals.flops > 0 ? totals.offloadedFlops / totals.flops : 0;
  const parts = [
    make('h2', {},
         totals.regions === 0 ? 'All on the host' : `${percentText(share, 1)} of FLOPs offloaded`),
    make('p', {class : 'say'},
         `${totals.offloadedOps.toLocaleString('en')} of ${countText(totals.ops, 'operator')} in ${
             countText(totals.regions, 'region')}; `,
         totals.hasRunTimeSizes ? `${
                                      totals.bytes > 0
                                          ? bytesText(totals.bytes) + ' and '
                                          : ''}tensors of run-time size cross the boundary.`
                                : `${bytesText(totals.bytes)} crosses the boundary.`),
  ];
  if (totals.likely)
    parts.push(note('Counted with ' + Object.entries(totals.likely).map(([name, extent]) => `${name}=${extent}`).join(', ') + ' (likely).'));
  if (data.vendors.length > 0) {
    parts.push(head('Who has what'));
    const hostOps = totals.ops - totals.offloadedOps, hostFlops = totals.flops - totals.offloadedFlops;
    const rows = data.vendors.map(
        vendor => [chip(vendor.title, vendorColour(vendor.name)), vendor.regions,
                   vendor.ops.toLocaleString('en'), percentText(vendor.flops, totals.flops),
                   crossText(vendor.bytes,
                             data.regions.some(region => region.vendor === vendor.name &&
                                                         region.hasRunTimeSizes))]);
    rows.push([chip('host', hostColour()), '', hostOps.toLocaleString('en'), percentText(hostFlops, totals.flops), '']);
    parts.push(table([columnOf(''), numberColumn('regions'), numberColumn('ops'), numberColumn('FLOPs'), numberColumn('crosses')], rows));
    for (const [vendor, why] of data.idle) parts.push(note(`${vendor} has nothing: ${why}`));
  }
  if (totals.estimate) parts.push(estimatePart(totals.estimate));
  else parts.push(head('Estimate'), note('None: costs were not compared (--cost-model=static does).'));
  if (data.reasonKinds.length > 0) {
    const counts = new Array(data.reasonKinds.length).fill(0);
    for (let row = 0; row < numRows; ++row) if (ops.kind[row] >= 0) ++counts[ops.kind[row]];
    parts.push(head('Why operators are on the host'));
    parts.push(make('ul', { class: 'plain' }, data.reasonKinds.slice(0, 40).map((kind, i) =>
      make('li', {}, chip(counts[i], colourOfKind(i)), ' ', link(kind, () => showOnly('kind', i))))));
  }
  parts.push(regionsPart());
  if (data.returned.length > 0)
    parts.push(head('Regions that went back to the host'), make('ul', { class: 'plain' }, data.returned.map(([vendor, why, count]) =>
      make('li', {}, `${vendor}, ${countText(count, 'operator')}: ${why}`))));
  if (data.apart.length > 0)
    parts.push(head('Regions that are not one'), make('ul', { class: 'plain' }, data.apart.slice(0, 30).map(([first, second, why]) =>
      make('li', {}, regionLinkOf(first), ' and ', regionLinkOf(second), ': ' + why))));
  if (data.isArtefact && data.regions.length > 0) parts.push(notRecorded('What went back to the host, and why regions are apart, is'));
  parts.push(head('Build'), facts([['bycc', data.version], ['target', `${data.triple}, ${data.cpu}`], ['flags', data.flags.join(' ') || 'none that change the result']]));
  return parts;
}
const regionLinkOf = symbol => {
  const region = data.regions.findIndex(it => it.symbol === symbol);
  return region < 0 ? symbol : regionLink(region);
};
function regionsPart() {
  if (data.regions.length === 0) return null;
  const order = data.regions.map((region, i) => i).sort((a, b) => data.regions[b].flops - data.regions[a].flops || a - b).slice(0, 100);
  return [
    head('Regions'),
    table([ columnOf(''), numberColumn('FLOPs'), numberColumn('crosses') ],
          order.map(i => [regionLink(i), flopsText(data.regions[i].flops),
                          crossText(data.regions[i].bytes, data.regions[i].hasRunTimeSizes)])),
    data.regions.length > 100 ? note(`and ${data.regions.length - 100} more, with fewer FLOPs`)
                              : null
  ];
}

// --- one node, region or repeat

const saidText = ['has it', 'would take it', 'refuses'];
function vendorsPart(row) {
  const set = data.reasonSets[ops.reason[row]];
  const parts = [];
  for (let i = 0; i < set.length; i += 3) {
    const vendor = text(set[i]), said = set[i + 1], why = text(set[i + 2]);
    parts.push(make('div', { class: 'why', style: `border-left-color:${said === 0 ? vendorColour(vendor) : said === 1 ? colours.r1 : colours.r0}` },
                    make('b', {}, vendor), ' ', saidText[said], why ? ': ' + why : ''));
  }
  if (parts.length === 0) parts.push(note(isHost(row) ? 'No vendor was asked.' : 'No other vendor was asked.'));
  return [head('What vendors say'), parts];
}

function turnsPart(row) {
  const turns = turnsOf(row);
  if (turns.length === 1) return null;
  const at = turns.indexOf(row), go = to => pickRow(turns[(to + turns.length) % turns.length], false);
  return make('div', { class: 'turns' }, make('button', { onclick: () => go(at - 1), 'aria-label': 'previous turn' }, '‹'),
              `${at + 1} of ${turns.length} alike`, make('button', { onclick: () => go(at + 1), 'aria-label': 'next turn' }, '›'));
}

function unitRowsOf(row) { // of the composite that the row is of
  let begin = row, end = row + 1;
  while (begin > 0 && ops.unit[begin - 1] === ops.unit[row] && ops.region[begin - 1] === ops.region[row]) --begin;
  while (end < numRows && ops.unit[end] === ops.unit[row] && ops.region[end] === ops.region[row]) ++end;
  return Array.from({ length: end - begin }, (_, i) => begin + i);
}

function readText(read) {
  const type = ` ${typeText(read.type)}, ${bytesText(data.typeBytes[read.type])}`;
  if (read.kind === FromOperator) return make('li', {}, rowLink(read.index), make('span', { class: 'note' }, type));
  const name = read.kind === FromInput ? 'input ' + (data.inputs[read.index] ? data.inputs[read.index][0] : read.index)
             : read.kind === FromConstant ? 'constant' : 'unknown';
  return make('li', {}, name, make('span', { class: 'note' }, type));
}

function timingText(timing) {
  const others = timing.rows.length > 1 ? ` for ${timing.rows.length} operators in one` : '';
  return `${timeText(timing.us)}${others}${timing.detail ? ' (' + timing.detail + ')' : ''}`;
}

function nodePane(row) {
  const composite = text(ops.composite[row]), together = unitRowsOf(row), region = ops.region[row];
  const timing = timingOfRow[row] >= 0 ? data.timings[timingOfRow[row]] : null;
  const readers = readersOf(row);
  return [
    make('h2', {}, text(ops.op[row])),
    make('div', {}, text(ops.name[row])),
    make('div', { style: 'margin-top:6px' }, chip(data.places[ops.place[row]], placeColour(row))),
    turnsPart(row),
    facts([
      ['source', text(ops.source[row]) || 'not recorded'],
      ['type', [typeText(ops.type[row]), make('span', { class: 'note' }, ', ' + bytesText(data.typeBytes[ops.type[row]]))]],
      text(ops.attributes[row]) && ['attributes', text(ops.attributes[row])],
      region >= 0 && ['region', regionLink(region)],
      composite && ['composite', [composite, make('div', { class: 'note' }, together.map((other, i) => [i ? ' + ' : '', other === row ? text(ops.op[other]) : link(text(ops.op[other]), () => pickRow(other, false))]))]],
      ['symbol', text(ops.symbol[row]) || 'none: it moves no data or became part of others'],
      ['FLOPs', ops.flops[row] > 0 ? flopsText(ops.flops[row]) : 'none'],
      ['estimate', ops.estimate[row] >= 0 ? timeText(ops.estimate[row]) + (together.length > 1 ? ` with the ${together.length} operators of its composite` : '') : 'none'],
      hasTimings && ['measured', timing ? timingText(timing) : 'not by itself'],
    ]),
    vendorsPart(row),
    head('Reads'),
    make('ul', { class: 'plain' }, readsOf(row).map(readText)),
    head('Read by'),
    readers.length > 0 ? make('p', {}, rowLinks(readers)) : note('no operator: it is a result, or nobody needs it'),
  ];
}

function regionPane(group) {
  const region = data.regions[group.region], us = sumOver(group, estimateOf), timing = timingOfRegion.get(region.symbol);
  const measured = timing !== undefined ? data.timings[timing].us : measuredOf(group.list);
  return [
    make('h2', {}, region.symbol),
    make('div', { style: 'margin-top:6px' }, chip(region.vendor, vendorColour(region.vendor))),
    facts([
      ['operators', group.rows.toLocaleString('en')],
      ['FLOPs', flopsText(region.flops)],
      ['crosses', `${bytesText(region.bytes)}${region.hasRunTimeSizes ? ' and more known at run time' : ''} in ${countText(region.tensors, 'tensor')}`],
      region.calls !== 1 && ['calls', region.calls],
      ['estimate', us > 0 ? timeText(us) + ', launches and transfers apart' : 'none'],
      hasTimings && ['measured', measured >= 0 ? timeText(measured) : 'not recorded'],
      turnsOfGroup(group) > 1 && ['alike', `${turnsOfGroup(group)} regions`],
    ]),
    make('div', { style: 'margin-top:10px' }, make('button', { onclick: () => toggle(group) }, group.isOpen ? 'Close' : 'Open')),
    histogramPart(group),
    data.apart.filter(pair => pair[0] === region.symbol || pair[1] === region.symbol).map(([first, second, why]) =>
      make('div', { class: 'why' }, 'Not one with ', regionLinkOf(first === region.symbol ? second : first), ': ' + why)),
  ];
}

function repeatPane(group) {
  const us = sumOver(group, estimateOf), flops = sumOver(group, row => ops.flops[row]);
  return [
    make('h2', {}, `×${group.turns}`),
    make('p', { class: 'say' }, `${countText(group.rows, 'operator')} that come ${group.turns} times, one after the other; the first is drawn for all.`),
    facts([['one', `${flopsText(flops)}${us > 0 ? ', ' + timeText(us) + ' (estimated)' : ''}`],
           ['all', `${flopsText(flops * group.turns)}${us > 0 ? ', ' + timeText(us * group.turns) + ' (estimated)' : ''}`]]),
    make('div', { style: 'margin-top:10px' }, make('button', { onclick: () => toggle(group) }, group.isOpen ? 'Close' : 'Open')),
    histogramPart(group),
  ];
}

function histogramPart(group) {
  const counts = new Map();
  for (const row of group.list) {
    const composite = text(ops.composite[row]), name = composite || text(ops.op[row]);
    if (!composite || isFirstOfUnit(row)) counts.set(name, (counts.get(name) || 0) + 1);
  }
  const rows = [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  return [head('What it holds'), table([columnOf(''), numberColumn('')], rows.map(([name, count]) => [name, count]))];
}

function portPane(child) {
  const [name, type] = (child.kind === InputChild ? data.inputs : data.outputs)[child.index];
  const readers = [];
  if (child.kind === InputChild)
    for (let row = 0; row < numRows; ++row)
      if (readsOf(row).some(read => read.kind === FromInput && read.index === child.index)) readers.push(row);
  return [make('h2', {}, name), facts([[child.kind === InputChild ? 'input' : 'output', type], readers.length > 0 && ['read by', rowLinks(readers)]])];
}

function pickedPane() {
  const picked = look.picked;
  if (!picked) return [make('h2', {}, 'Nothing chosen'), note('Click a node or a box, or find one with / .')];
  if (picked.unit) return nodePane(picked.row);
  if (picked.port) return portPane(picked.port);
  return picked.group.kind === RegionGroup ? regionPane(picked.group) : repeatPane(picked.group);
}

// --- prices

function pricesPane() {
  if (!data.prices) return [make('h2', {}, 'No prices'), note(data.noPrices)];
  const worth = data.prices.prices.filter(price => price.gain_us > 0), rest = data.prices.prices.length - worth.length;
  return [
    make('h2', {}, 'What refusals cost'),
    note('How much faster the plan would be estimated to be, were a vendor to take what it refuses.'),
    worth.length === 0 ? make('p', { class: 'say' }, 'Nothing: no refusal, lifted alone, makes a faster plan.') : null,
    worth.slice(0, 100).map(price => make('div', { class: 'why', style: 'border-left-color:' + colours.r0 },
      make('b', {}, timeText(price.gain_us)), ` · ${price.vendor} · ${price.op} ×${price.nodes.length}`,
      make('div', {}, price.reason),
      make('div', { class: 'note' }, price.nodes.slice(0, 8).map((name, i) => [i ? ', ' : '', nameLink(name)]), price.nodes.length > 8 ? ` and ${price.nodes.length - 8} more` : ''))),
    rest > 0 ? note(`${countText(rest, 'group')} of refusals would gain nothing.`) : null,
    data.prices.boundaries && data.prices.boundaries.length > 0 ? [head('Between regions'), data.prices.boundaries.slice(0, 50).map(pair =>
      make('div', { class: 'why' }, regionLinkOf(pair.first), ' and ', regionLinkOf(pair.second), ': ' + pair.why))] : null,
  ];
}
const rowOfName = (() => {
  const rows = new Map();
  for (let row = numRows - 1; row >= 0; --row) rows.set(text(ops.name[row]), row);
  return name => rows.has(name) ? rows.get(name) : -1;
})();
const nameLink = name => rowOfName(name) < 0 ? name : rowLink(rowOfName(name));

// --- passes

function passesPane() {
  if (data.passes.length === 0) return [make('h2', {}, 'Passes'), data.isArtefact ? notRecorded('Passes are') : note('No pass ran.')];
  const hasTimes = data.passes[0].length > 2, most = Math.max(...data.passes.map(pass => pass[2] || 0));
  const total = data.passes.reduce((sum, pass) => sum + (pass[2] || 0), 0);
  return [
    make('h2', {}, `${data.passes.length === 1 ? '1 pass' : data.passes.length + ' passes'}${hasTimes ? ' in ' + timeText(total * 1e6) : ''}, in the order they ran`),
    hasTimes ? null : note('Their times differ from build to build, so they are here with --time-passes only.'),
    make('div', { style: 'height:8px' }),
    table([columnOf('pass'), ...(hasTimes ? [numberColumn('time')] : [])],
          data.passes.map(pass => [[pass[0], pass[1] ? make('span', { class: 'note' }, '  changed it') : null, hasTimes ? bar([[pass[2], colours.accent]], most) : null],
                                   ...(hasTimes ? [timeText(pass[2] * 1e6)] : [])])),
  ];
}

// --- memory

const arena = data.arena && {
  ...data.arena,
  list: Array.from({ length: data.arena.buffers.length / 5 }, (_, i) => {
    const [name, offset, bytes, first, last] = data.arena.buffers.slice(5 * i, 5 * i + 5);
    return { name: text(name), offset, bytes, first, last };
  }),
};
function liveBytes() {
  const change = new Float64Array(arena.steps.length + 1);
  for (const buffer of arena.list) { change[buffer.first] += buffer.bytes; change[buffer.last + 1] -= buffer.bytes; }
  let live = 0;
  return arena.steps.map((_, step) => live += change[step]);
}

function drawArena(view, at) {
  const ratio = window.devicePixelRatio || 1, w = view.clientWidth, h = view.clientHeight, brush = view.getContext('2d');
  view.width = Math.round(w * ratio);
  view.height = Math.round(h * ratio);
  brush.scale(ratio, ratio);
  const steps = Math.max(arena.steps.length, 1), x = step => step / steps * w, y = bytes => h - bytes / Math.max(arena.bytes, 1) * (h - 4);
  arena.list.forEach(buffer => {
    const isOver = at !== undefined && buffer.first <= at && at <= buffer.last;
    brush.fillStyle = isOver ? colours.r0 : buffer.name ? colours.v0 : colours.none;
    brush.globalAlpha = isOver ? 0.9 : 0.5;
    const left = x(buffer.first), top = y(buffer.offset + buffer.bytes);
    brush.fillRect(left, top, Math.max(x(buffer.last + 1) - left - 0.4, 0.6), Math.max(y(buffer.offset) - top - 0.4, 0.6));
  });
  brush.globalAlpha = 1;
  brush.strokeStyle = colours.ink;
  brush.lineWidth = 1.2;
  brush.beginPath();
  liveBytes().forEach((bytes, step) => { brush.lineTo(x(step), y(bytes)); brush.lineTo(x(step + 1), y(bytes)); });
  brush.stroke();
}

function memoryPane() {
  if (!arena) return [make('h2', {}, 'No plan of the memory'), note(data.noArena || 'It was not recorded.')];
  if (arena.list.length === 0)
    return [make('h2', {}, `Arena of ${bytesText(arena.bytes)}`), note('No value lies in it: what runs writes into outputs, or in memory that is asked for at run time.')];
  const live = liveBytes(), peak = live.indexOf(Math.max(...live));
  const view = make('canvas', { id: 'arena' }), said = make('div', {});
  const tell = step => {
    const there = arena.list.filter(buffer => buffer.first <= step && step <= buffer.last).sort((a, b) => b.bytes - a.bytes);
    said.replaceChildren(
      head(step === peak ? 'At the peak' : 'At this step'),
      make('p', { class: 'say' }, `Step ${step + 1} of ${arena.steps.length}, ${text(arena.steps[step]) || 'without a name'}: ${bytesText(live[step])} in ${countText(there.length, 'buffer')}.`),
      table([columnOf('buffer'), numberColumn('bytes'), numberColumn('steps')],
            there.slice(0, 14).map(buffer => [buffer.name || 'work space', bytesText(buffer.bytes), `${buffer.first + 1}–${buffer.last + 1}`])));
  };
  view.addEventListener('mousemove', event => {
    const step = Math.min(arena.steps.length - 1, Math.max(0, Math.floor(event.offsetX / view.clientWidth * arena.steps.length)));
    drawArena(view, step);
    tell(step);
  });
  view.addEventListener('mouseleave', () => { drawArena(view); tell(peak); });
  setTimeout(() => drawArena(view));
  tell(peak);
  return [
    make('h2', {}, `Arena of ${bytesText(arena.bytes)}`),
    note(`Buffers over ${countText(arena.steps.length, 'step')} of a run, each where it lies; the line is what is in use, ${bytesText(live[peak])} at most.`),
    make('div', { style: 'height:8px' }), view, said,
  ];
}

// --- measured

function timePane() {
  if (!hasTimings) return [make('h2', {}, 'Nothing measured'), note('bycc-run net.json --profile=trace.json writes what a run takes; --profile-data=trace.json puts it here.')];
  const list = data.timings.filter(timing => !timing.isStep).sort((a, b) => b.us - a.us), most = list[0].us;
  // An emulated vendor's regions are kernels of the host.
  const emulates = timing => !timing.region && timing.rows.length > 0 && timing.rows.every(row => ops.region[row] >= 0) ? data.regions[ops.region[timing.rows[0]]].symbol : '';
  const inRegions = list.filter(timing => timing.region || emulates(timing)).reduce((sum, timing) => sum + timing.us, 0);
  const unknown = list.filter(timing => !timing.region && timing.rows.length === 0);
  const nameOf = timing => timing.isStep ? (timing.rows.length > 0 ? link(timing.name, () => pickRow(timing.rows[0], true)) : timing.name) : timing.region ? regionLinkOf(timing.region) : timing.rows.length > 0 ? link(timing.name, () => pickRow(timing.rows[0], true)) : timing.name;
  const steps = data.timings.filter(timing => timing.isStep).sort((a, b) => b.us - a.us);
  const rows = timings => timings.slice(0, 60).map(timing => [
    [nameOf(timing), timing.detail ? make('span', { class: 'note' }, ' ' + timing.detail) : null, make('div', { class: 'note' }, emulates(timing) ? ['of ', regionLinkOf(emulates(timing)), ': '] : '', timing.region && !timing.isStep ? 'region' : timing.rows.slice(0, 4).map(row => text(ops.op[row])).join(', ') + (timing.rows.length > 4 ? ', …' : '')),
     bar([[timing.us, timing.region || emulates(timing) ? colours.v0 : colours.r0]], most)], timeText(timing.us), percentText(timing.us, measuredTotal)]);
  return [
    make('h2', {}, `${timeText(measuredTotal)} measured`),
    make('p', { class: 'say' }, `One run: ${timeText(inRegions)} in regions, ${timeText(measuredTotal - inRegions)} on the host.`,
         data.totals.estimate ? ` The estimate is ${timeText(data.totals.estimate.us)}.` : ''),
    unknown.length > 0 ? note(`${countText(unknown.length, 'kernel')} that no operator is known for: ${timeText(unknown.reduce((sum, timing) => sum + timing.us, 0))}.`) : null,
    head('Kernels and regions'), table([columnOf(''), numberColumn('time'), numberColumn('share')], rows(list)),
    steps.length > 0 ? [head('Steps of regions'), table([columnOf(''), numberColumn('time'), numberColumn('share')], rows(steps))] : null,
  ];
}
