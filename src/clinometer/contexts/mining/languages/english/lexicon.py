"""Word lists of the English miner: nouns for persons, and words that give gender away."""

from __future__ import annotations

MALE, FEMALE = "male", "female"

#: Subject pronouns that can stand at [Y], and what they say about gender.
SUBJECT_PRONOUNS = {"he": MALE, "she": FEMALE}
REFLEXIVES = {"himself": MALE, "herself": FEMALE}
POSSESSIVES = {"his": MALE, "her": FEMALE}
GENDERED_PRONOUNS = {
    **SUBJECT_PRONOUNS,
    **REFLEXIVES,
    **POSSESSIVES,
    "him": MALE,
    "hers": FEMALE,
}

#: Nouns for persons that say their gender. Used for agreement, and never left in a skeleton.
MALE_PERSONS = frozenset(
    """
    abbot actor baron batsman boy boyfriend bishop brother businessman cameraman chairman
    congressman count cousin-in-law cowboy craftsman dad duke emperor father fisherman footman
    foreman frontman gentleman godfather grandfather grandson groom guy half-brother heir hero
    horseman host husband king knight lad landlord lord man manservant marquess master monk nephew
    nobleman patriarch pope priest prince salesman schoolboy serviceman sheikh son son-in-law
    spokesman sportsman statesman stepfather stepson sultan tsar uncle waiter widower
    father-in-law brother-in-law
    """.split()
)
FEMALE_PERSONS = frozenset(
    """
    abbess actress aunt ballerina baroness bride businesswoman chairwoman congresswoman countess
    dame daughter daughter-in-law duchess empress fiancée gal girl girlfriend goddess godmother
    granddaughter grandmother heiress heroine hostess housewife lady landlady maid maiden
    marchioness matriarch mistress mom mother mother-in-law mum nanny niece noblewoman nun priestess
    princess queen saleswoman schoolgirl seamstress sister sister-in-law songstress soprano
    spokeswoman sportswoman stepdaughter stepmother waitress widow wife witch woman
    """.split()
)

#: Other nouns for one person, in addition to the groups of the topic.
PERSONS = frozenset(
    """
    academic activist addict adult adventurer advocate agent ally amateur analyst anthropologist
    applicant archaeologist archbishop aristocrat artisan assassin astronaut astronomer athlete
    attacker baby bassist biographer biologist blogger boss botanist boxer bowler businessperson
    buyer candidate caretaker cartoonist celebrity champion chairperson character chief child
    choreographer citizen civilian cleric client colleague collector colonel columnist comedian
    companion competitor composer conductor conservationist constable contestant contractor
    coordinator correspondent councillor councilor cousin creator cricketer criminal critic curator
    customer cyclist dancer deacon dean debater debutant defendant defender delegate deputy
    detective dictator diplomat doctor donor dramatist driver drummer employee employer emperor
    envoy essayist executive expert explorer fan farmer fighter filmmaker financier fireman
    firefighter footballer forward founder friend fugitive gangster gardener general goalkeeper
    golfer governor graduate guard guardian guest guitarist gunman gymnast historian hunter
    hairdresser illustrator immigrant individual industrialist infant inhabitant inmate inventor
    jockey judge juror keeper killer laborer labourer landowner leader legislator lieutenant
    linguist listener lover lyricist magician magistrate major mathematician mayor mechanic member
    merchant midfielder midwife migrant minister missionary model moderator mountaineer murderer
    musician naturalist navigator neighbour neighbor nominee novelist observer offender official
    opponent organizer organist orphan owner painter parent participant partner passenger pastor
    patient patron person philanthropist philosopher physicist physiologist pianist pioneer player
    playwright poet policeman politician practitioner preacher predecessor premier presenter
    principal prisoner proponent prosecutor protagonist pupil racer ranger rapper reader rebel
    rector refugee resident rider rival rower ruler runner sailor sculptor screenwriter seller
    senator senior servant settler sheriff singer skater skier skipper slave sociologist soldier
    solicitor songwriter speaker spokesperson sprinter stranger striker student successor suspect
    swimmer teammate teenager thief tourist trader traveler traveller treasurer veteran vicar
    victim viewer violinist virtuoso visitor vocalist volunteer voter warrior winner witness
    wrestler youngster youth zoologist
    """.split()
)

#: Further words that reveal the gender of [X], in addition to the topic's own words.
GENDER_CUES = frozenset(
    """
    abortion barber beard bra breast brotherhood chivalry convent dowry feminine feminism feminist
    fiancé fiancée fraternity gay lesbian male female maternal maternity menopause menstruation
    midwife moustache motherhood fatherhood nunnery paternal paternity penis pregnancy pregnant
    prostate seminary skirt sorority testicle transgender uterus virgin womb
    birth bachelor bachelorette gentlemen ladies husbands wives sons daughters brothers sisters
    fathers mothers boys girls men women
    """.split()
)

#: Verbs that are incomplete without their prepositional phrase.
NEEDS_PHRASE = frozenset(
    """
    refer rely depend belong consist relate tend deal focus result range amount lead base
    specialize specialise concentrate derive stem adhere pertain dedicate devote attribute consist
    associate compare credit act serve regard describe view know call name
    """.split()
)

#: Verbs that are incomplete without an object.
NEEDS_OBJECT = frozenset(
    """
    accompany achieve appoint award bring call cause consider contain create defeat describe earn
    elect enjoy entitle find gain get give have hold include injure introduce keep let make mention
    need obtain offer produce put raise receive represent require say secure send set state take
    thank use want
    """.split()
)

#: Adverbs that change the meaning of the verb before them.
KEPT_ADVERBS = frozenset(
    "abroad ahead alone apart aside away back backwards behind down forth forward forwards home "
    "off out over overseas overboard there through together up upstairs downstairs".split()
)

#: Verbs whose object is a person to whom a later pronoun may refer.
TOLD = frozenset(
    "told tells tell telling asked asks ask asking informed informs inform offered offers offer "
    "convinced convinces persuaded persuades reminded reminds warned warns assured assures advised "
    "advises promised promises showed shows taught teaches gave gives sent sends".split()
)

#: What opens an adverbial clause.
SUBORDINATORS = frozenset(
    "after although as because before if lest once since so though till unless until when "
    "whenever where whereas wherever while whilst whether".split()
)
QUESTION_WORDS = frozenset("how what when where which who whom why".split())
COORDINATORS = frozenset(["and", "but", "or", "so", "yet"])

#: Head nouns that are incomplete without "of …".
NEEDS_OF = frozenset(
    "one some many most part kind type sort number lot half majority rest series couple pair group "
    "set side top bottom result process course member founder fan victim form piece sense state "
    "lack loss".split()
)

#: Nouns that sound wrong with "the" instead of a possessive: "changed the mind".
INALIENABLE = frozenset(
    "life head hand hands arm arms leg legs eye eyes ear ears mouth nose mind face foot feet heart "
    "finger fingers hair body shoulder shoulders birthday age childhood death back best own way "
    "tongue knee knees neck chest soul lap teens twenties thirties name names temper breath "
    "parents family children child virginity innocence".split()
)

#: Last words of names that say what the named thing is.
INSTITUTIONS = frozenset(
    "academy agency army association award board cathedral championship church club college "
    "commission committee company conference council court department festival foundation "
    "government hospital institute institution league library medal ministry museum navy office "
    "orchestra parliament party prize school seminary senate society station team theater theatre "
    "tournament tribunal union university".split()
)

BE = frozenset(["am", "is", "are", "was", "were", "be", "been", "being", "'m", "'re", "’m", "’re"])
HAVE = frozenset(["have", "has", "had", "having", "'ve", "’ve"])
DO = frozenset(["do", "does", "did"])
#: Clitics that stand for several auxiliaries: what follows decides.
BE_OR_HAVE = frozenset(["'s", "’s"])
HAVE_OR_WOULD = frozenset(["'d", "’d"])

MODAL_PAST = {
    "can": "could",
    "ca": "could",
    "could": "could",
    "will": "would",
    "wo": "would",
    "'ll": "would",
    "’ll": "would",
    "'d": "would",
    "’d": "would",
    "would": "would",
    "may": "might",
    "might": "might",
    "shall": "should",
    "sha": "should",
    "should": "should",
    "must": "must",
    "ought": "ought",
}

#: One spelling for one word, so that equal predicates are counted once.
SPELLINGS = {
    "learnt": "learned",
    "dreamt": "dreamed",
    "burnt": "burned",
    "spelt": "spelled",
    "leapt": "leaped",
    "leant": "leaned",
    "got": "got",
    "gotten": "got",
    "realised": "realized",
    "emphasised": "emphasized",
    "recognised": "recognized",
    "criticised": "criticized",
    "apologised": "apologized",
    "organised": "organized",
    "theorised": "theorized",
    "hypothesised": "hypothesized",
    "specialised": "specialized",
}


def gender_of(word: str) -> str | None:
    """What a word for a person says about gender: "male", "female", or None.

    >>> gender_of("queen"), gender_of("he"), gender_of("nurse")
    ('female', 'male', None)
    """
    if word in GENDERED_PRONOUNS:
        return GENDERED_PRONOUNS[word]
    if word in MALE_PERSONS:
        return MALE
    return FEMALE if word in FEMALE_PERSONS else None


def gives_gender_away(word: str) -> bool:
    """Whether a word of a skeleton would reveal the gender of [X].

    >>> gives_gender_away("businessman"), gives_gender_away("human"), gives_gender_away("role")
    (True, False, False)
    """
    if gender_of(word) or word in GENDER_CUES:
        return True
    ending = word.endswith(("man", "men", "woman", "women", "boy", "girl"))
    return ending and word not in (
        "human",
        "german",
        "roman",
        "ottoman",
        "specimen",
        "acumen",
        "omen",
    )
