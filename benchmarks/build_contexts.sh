#!/bin/sh
# The built-in context sets, mined anew: benchmarks/build_contexts.sh CORPORA OUT [TOPIC...]
# CORPORA holds the files named below; each set is mined with the command its sidecar repeats.
# A set that is in OUT already is not mined again, and one that was stopped continues.
set -eu
corpora=$1
out=$2
shift 2
topics=${*:-gender race religion disability}

mine() { # SOURCE TOPIC CORPUS WORDS
    [ -e "$out/$1-$2.json" ] && return
    clinometer mine "$corpora/$3" --topic "$2" --out "$out/$1-$2.csv" --source "$4" --json
}

for topic in $topics; do
    mine wikipedia "$topic" wikipedia_en_recent.jsonl.zst \
        "English Wikipedia, 10,000 recent articles (CC BY-SA 3.0)"
    mine web "$topic" web_en.jsonl.zst "C4 documents, 1,480 (ODC-BY)"
    mine conversation "$topic" conversation_en_switchboard.zip:switchboard/transcript \
        "Switchboard sample, 36 telephone calls (Open Content License)"
    mine textbook "$topic" textbook_en.jsonl.zst \
        "OpenStax textbooks, 473 sections of history, sociology, psychology, government (CC BY-NC-SA 4.0)"
    mine book "$topic" books_en.jsonl.zst "14 novels in the public domain"
done
mine wikipedia gender-zh wikipedia_zh.jsonl.zst \
    "Chinese Wikipedia, 1,500 articles, simplified and traditional (CC BY-SA 3.0)"
