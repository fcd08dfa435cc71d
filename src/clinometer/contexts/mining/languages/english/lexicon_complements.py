"""Words that need a complement in a skeleton: the word lists of the careful rendering.

Templates of the coreference strategy end inside a sentence, so a missing complement is noticeable.
The lists contain the words for which this happened in mined text.
"""

from __future__ import annotations

#: Light nouns that mean nothing, or something else, without their adjective.
LIGHT = frozenset(
    "affairs amount approach audience background character choice condition deal degree descent "
    "effort extent figure form hands history level manner place player position promise reputation "
    "role setting stand status tone way".split()
)
#: Nouns that are dropped if one of their modifiers could not be kept: "of Chinese descent".
NEVER_ALONE = frozenset(
    "affairs ancestry condition descent figure grade hands history level manner origin place round "
    "stand status tone".split()
)
#: Nouns that need their "of …", or the infinitive after them: "on the verge", "in order".
STRANDED = frozenset(
    "behalf brink charge direction edge favor favour front height lieu midst need order point "
    "search spite verge".split()
)
#: Nouns that take no "a".
MASS = frozenset(
    "aid art citizenship clothing cricket engineering football furniture golf hockey information "
    "literature money music parliament poetry politics protectionism research rugby soccer "
    "training".split()
)
#: Further nouns that sound wrong with "the" instead of a possessive: "turned the attention".
OWN = frozenset("attention emotions eyesight feelings pardon senses sight tears will".split())
#: Numbers that are incomplete without the digits before them, which a skeleton drops.
MAGNITUDES = frozenset("billion dozen hundred million millions thousand times trillion".split())
#: Quantities that stand for a noun, which a skeleton would lose: "would spend much (of the year)".
QUANTITIES = frozenset(
    "enough few fewer half less little many more most much quarter several third".split()
)
#: Adjectives that need an infinitive or a phrase.
UNFINISHED = frozenset(
    "able apt bound due eager fond inclined liable likely prone unable unlikely up willing".split()
)
#: Ordinals and the like: the article is "the" because of them.
ORDINALS = frozenset(
    "first second third fourth fifth sixth seventh eighth ninth tenth last final next only same "
    "main sole whole".split()
)
#: Verbs that are incomplete without a noun as their object, regardless of what else follows.
NEEDS_NOUN = frozenset("bind do force spend".split())
#: Verbs that need a person before "that": not "told that".
NEEDS_WHOM = frozenset("assure convince inform notify persuade remind tell".split())
#: Verbs that take no clause with "that", despite the parse: "lived that".
NO_CLAUSE = frozenset("appoint bind live point speak".split())
#: Verbs that need any complement: "went", "was put".
NEEDS_MORE = frozenset(
    "bring call categorise categorize classify consider deem describe go indicate lay list lodge "
    "meet name place put regard rename send stand treat view".split()
)
#: Verbs and adjectives that take "as …": the "as" of a clause would be read as theirs.
TAKES_AS = frozenset(
    "appear appoint categorise categorize choose classify consider describe elect know known join "
    "list name portray recall recognize regard renowned see select serve start treat use view "
    "work".split()
)
#: Verbs with two objects.
TWO_OBJECTS = frozenset(
    "allow appoint ask award call consider cost deem deny earn elect give grant lend make name "
    "offer pay promise send serve show teach tell win".split()
)
#: Verbs that take a participle: "was left paralysed", "kept the door closed".
TAKES_PARTICIPLE = frozenset(
    "appear be become come feel find get go have hear keep leave lie look make quote remain see "
    "seem sit stand stay want".split()
)
#: Prepositions with which, or with whom, that read well after the noun alone.
RELATIVES = frozenset([("in", "which"), ("on", "which"), ("at", "which"), ("with", "whom")])
#: Offices and the like that a person can be without an article: "was mayor", "was part of".
OFFICES = frozenset(
    "captain chair chancellor coach dean director editor governor head home manager mayor minister "
    "part premier president principal professor secretary treasurer".split()
)
#: Pronouns that a relative clause can follow.
ANTECEDENTS = frozenset("all anything everything nothing one something those".split())

#: Words about one sex only by their meaning, which would reveal the gender of [X].
CUES_BY_MEANING = frozenset(
    """
    alimony bald baldness beards boyfriends broodmare butler butlers cassock colt colts corset
    fillies filly flapper gelding girlfriends hysterectomy manhood mare mares miscarriage
    motherhouse mustache ovary pregnancies stallion vasectomy womanhood
    """.split()
)
