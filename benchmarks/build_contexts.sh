#!/bin/sh
# The built-in context sets, mined anew: benchmarks/build_contexts.sh CORPORA OUT [gender|people|zh...]
# CORPORA holds the files named below; each set is mined with the command its sidecar repeats.
# Only Wikipedia has
# enough sentences about such people; the other sources give predicates of any person.
# A set that is in OUT already is not mined again, and one that was stopped continues.
set -eu
corpora=$(cd "$1" && pwd)
out=$(cd "$2" && pwd)
shift 2
kinds=${*:-gender people zh}

mine() { # NAME SOURCE CORPUS OPTION...
    [ -e "$out/$1.json" ] && return
    name=$1 source=$2 corpus=$3
    shift 3
    (cd "$corpora" && clinometer mine "$corpus" "$@" --out "$out/$name.csv" --set "source=$source" --json)
}

each() { # TOPIC OPTION...
    topic=$1
    shift
    mine "web-$topic" "C4 documents, 1,480 (ODC-BY)" web_en.jsonl.zst --topic "$topic" "$@"
    mine "conversation-$topic" "Switchboard sample, 36 telephone calls (Open Content License)" \
        conversation_en_switchboard.zip:switchboard/transcript --topic "$topic" "$@"
    mine "textbook-$topic" \
        "OpenStax textbooks, 473 sections of history, sociology, psychology, government (CC BY-NC-SA 4.0)" \
        textbook_en.jsonl.zst --topic "$topic" "$@"
    mine "book-$topic" "14 novels in the public domain" books_en.jsonl.zst --topic "$topic" "$@"
}

for kind in $kinds; do
    case $kind in
    gender)
        mine wikipedia-gender \
            "English Wikipedia, 10,000 recent articles and 3,000 long ones (CC BY-SA 3.0)" \
            wikipedia_en_recent.jsonl.zst wikipedia_en_core.jsonl.zst --sample all --topic gender
        each gender
        ;;
    people)
        for topic in race religion disability; do
            mine "wikipedia-$topic" \
                "English Wikipedia, 10,000 recent and 3,000 long articles (CC BY-SA 3.0)" \
                wikipedia_en_recent.jsonl.zst wikipedia_en_core.jsonl.zst --sample all \
                --topic "$topic"
            each "$topic" --about any
        done
        ;;
    zh)
        mine wikipedia-gender-zh \
            "Chinese Wikipedia, 1,500 articles, simplified and traditional (CC BY-SA 3.0)" \
            wikipedia_zh.jsonl.zst --topic gender-zh
        ;;
    esac
done
