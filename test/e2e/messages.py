"""messages.py MODEL WORK: each message's example of `bycc explain` ends with that message.

MODEL is what the examples call net.onnx. An example that cannot be a script stands in ELSEWHERE
with the test that shows its message.
"""

import json
import os
import re
import shutil
import subprocess
import sys

ELSEWHERE = {
    "BY0706": "vendor_run_half.sh",
    "BY0709": "I9_cpu_features.sh",
}


def main():
    model, work = sys.argv[1:3]
    explained = json.loads(subprocess.run(["bycc", "explain", "--json"], check=True, stdout=subprocess.PIPE).stdout)
    faults, numbers = [], set()
    for message in explained:
        number = message["id"]
        if not re.fullmatch(r"BY0[1-9]\d\d", number) or number in numbers:
            faults.append(f"{number}: not a number of its own")
        numbers.add(number)
        if not message["example"]:
            if number not in ELSEWHERE:
                faults.append(f"{number}: no example, and no test in ELSEWHERE")
            continue
        folder = os.path.join(work, number)
        os.makedirs(folder)
        shutil.copy(model, os.path.join(folder, "net.onnx"))
        *before, last = split_commands(message["example"])
        for command in before:
            done = run(command, folder)
            if done.returncode not in (0, 1):
                faults.append(f"{number}: {command}: exit code {done.returncode}\n{done.stderr}")
        done = run(last, folder)
        if done.returncode == 0 or f"[{number}]" not in done.stderr:
            faults.append(f"{number}: {last}: exit code {done.returncode}\n{done.stderr}")
    for number, test in ELSEWHERE.items():
        if number not in numbers:
            faults.append(f"{number}: of ELSEWHERE, is no message")
        with open(os.path.join(os.path.dirname(__file__), test), encoding="utf-8") as script:
            if f"[{number}]" not in script.read():
                faults.append(f"{test} does not look for [{number}]")
    print(f"{len(numbers)} messages")
    sys.exit("\n".join(faults) if faults else 0)


def split_commands(script):
    """Commands of the script, here documents with the command that they belong to."""
    commands, lines = [], iter(script.split("\n"))
    for line in lines:
        if "<<'END'" in line:
            for more in lines:
                line += "\n" + more
                if more == "END":
                    break
        commands.append(line)
    return commands


def run(command, folder):
    return subprocess.run(["bash", "-c", command], cwd=folder, text=True, errors="replace", stdout=subprocess.PIPE, stderr=subprocess.PIPE)


main()
