"""The command line of the programs here that write documents of share/doc from what bycc says."""

import argparse
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main(usage, documents):
    """documents: functions that give a document's text for a bycc, by the file's name. With --check
    nothing is written, and a file that is not what would be written ends with exit code 1."""
    parser = argparse.ArgumentParser(description=usage, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--bycc', default=ROOT / 'build' / 'bin' / 'bycc')
    parser.add_argument('--check', action='store_true')
    options = parser.parse_args()
    for name, document in documents.items():
        path, text = ROOT / 'share' / 'doc' / name, document(options.bycc)
        if not options.check:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            sys.exit('share/doc/%s is not current: run tools/dev/%s' % (name, pathlib.Path(sys.argv[0]).name))
