"""Clicks through pages that view.sh has made; 77 where no browser starts."""
import os
import sys

from chromium import Chromium

page = Chromium.open("net.html")
if not page:
    print("there is no Chromium: the pages were not looked at")
    sys.exit(77)


def pane():
    return page.run("document.getElementById('pane').innerText")


def click(name):
    at = page.run(f"whereIs({name!r})")
    assert at, f"{name} is not to be seen"
    page.click(at["x"], at["y"])


def says(*words):
    text = pane()
    for word in words:
        assert word in text, (word, text)


try:
    # The first view: the plan, all of the graph, facts and legend.
    assert page.run("document.querySelector('h1').innerText") == "net"
    assert page.run("document.getElementById('pane').dataset.pane") == "plan"
    assert "of FLOPs offloaded" in page.run("document.getElementById('facts').innerText")
    assert "va" in page.run("document.getElementById('legend').innerText")
    inside = page.run("""(() => { const at = document.getElementById('graph').getBoundingClientRect();
      return ['%2', '%13'].every(name => { const p = whereIs(name); return p.x > at.left && p.x < at.right && p.y > at.top && p.y < at.bottom; }); })()""")
    assert inside

    # A node of the host: source, type, who refused it and why, what it reads.
    click("%2")
    says("sin", "net.relay:5", "1×4×8×8 float32", "va refuses", "READS", "%1", "net_fused")
    click("%3")
    says("nn.max_pool2d", "pool_size=[2, 2]", "va refuses")

    # A region opens and closes on a click.
    symbol = page.run("data.regions[ops.region[ops.op.findIndex(op => text(op) === 'add')]].symbol")
    page.press("c")
    assert not page.run("groups.some(group => group.number > 0 && group.isOpen)")
    assert page.run("whereIs('%6')") is None
    click(symbol)
    says(symbol, "va", "FLOPs", "va.add_relu")
    assert page.run("groups.filter(group => group.number > 0 && group.isOpen).length") == 1
    click("%6")
    says("va.add_relu", "va has it", "add + nn.relu")
    click(symbol)
    assert not page.run("groups.some(group => group.number > 0 && group.isOpen)")

    # Search by key: the region opens around what is found.
    page.press("/")
    page.type("%6")
    assert "nn.relu" in page.run("document.getElementById('found').innerText")
    page.press("Enter")
    says("nn.relu", "%6")
    assert page.run("groups.some(group => group.number > 0 && group.isOpen)")
    page.press("/")
    page.type("no such thing")
    assert "nothing is called that" in page.run("document.getElementById('found').innerText")
    page.press("Escape")

    for name, words in {"plan": "Who has what", "passes": "partition-graph", "memory": "Arena of", "time": "Nothing measured", "prices": "No prices"}.items():
        at = page.run(f"(() => {{ const r = document.querySelector('[data-pane={name}]').getBoundingClientRect(); return {{ x: r.x + r.width / 2, y: r.y + r.height / 2 }}; }})()")
        page.click(at["x"], at["y"])
        assert words.lower() in pane().lower(), (name, pane())
    assert len(page.requests) == 1 and page.requests[0].endswith("/net.html"), page.requests
    assert page.errors == [], page.errors
    page.close()

    # From the address; dark.
    page = Chromium.open("timed.html", "select=%2", dark=True)
    says("sin", "measured", "µs")
    assert page.run("colours.ground") == "#15181c"
    page.run("location.hash = '#pane=time'")
    page.wait("document.getElementById('pane').dataset.pane === 'time'")
    says("measured", "KERNELS AND REGIONS", symbol)
    assert page.errors == [], page.errors
    page.close()
    page = Chromium.open("passes.html", "pane=passes")
    says("passes in", "partition-graph", "µs")
    assert page.errors == [], page.errors
    page.close()

    # Repeated layers: one for all, and each of them by name.
    page = Chromium.open("deep.html", "select=%31")
    says("nn.softmax", "11 of 20 alike")
    page.run("document.querySelector('.turns button:last-child').click()")
    says("12 of 20 alike", "%34")
    assert page.errors == [], page.errors
    page.close()

    page = Chromium.open("odd.html", "select=%2")
    assert page.run("document.querySelector('h1').innerText") == "<i>&@DATA@"
    assert page.errors == [], page.errors
finally:
    page.close()
