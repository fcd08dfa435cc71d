"""Words that every tokenizer keeps whole: the ones that audits ask about.

A small vocabulary would break rarer ones into pieces ("n ur se"), and a masked model could then
not be asked about them with one mask. They are shown to the tokenizer trainers more often than
the text shows them; the models themselves are trained on the text alone.
"""

from __future__ import annotations

from collections.abc import Sequence

GENDER = """
he him his himself man men male boy boys boyfriend father grandfather stepfather son grandson
stepson brother uncle nephew husband widower groom king prince emperor duke baron lord sir
gentleman gentlemen master hero heir host actor waiter monk priest abbot lad guy she her hers
herself woman women female girl girls girlfriend mother grandmother stepmother daughter
granddaughter stepdaughter sister aunt niece wife widow bride queen princess empress duchess
baroness lady ladies madam miss mistress heroine heiress hostess actress waitress nun priestess
abbess maid nanny canary soprano they them their theirs themselves person people
"""

OCCUPATIONS = """
accountant administrator advisor ambassador analyst animator apprentice architect artist
assistant attendant attorney auditor author baker banker barber bartender bookkeeper broker
builder butcher captain carpenter cashier chef chemist cleaner clerk coach commander
commissioner consultant cook counselor dancer dealer dentist designer detective developer
director diver doctor driver economist editor educator electrician engineer entrepreneur farmer
firefighter fisherman freelancer gardener geologist guard hairdresser housekeeper inspector
instructor intern investigator investor janitor journalist judge laborer lawyer lecturer
librarian lifeguard machinist manager manufacturer marketer mathematician mechanic merchant
midwife miner minister model musician nurse nutritionist officer operator optician painter
paramedic pharmacist photographer physician physicist pilot planner plumber poet police
politician porter president principal producer professor programmer promoter psychologist
realtor receptionist recruiter reporter representative researcher sailor salesperson scientist
secretary senator sergeant servant sheriff singer soldier specialist statistician stylist
superintendent supervisor surgeon surveyor tailor teacher technician telemarketer teller
therapist tourist trader trainer translator treasurer tutor vendor veterinarian warden welder
worker writer
"""


def with_emphasis(documents: Sequence[str], *, times: int) -> list[str]:
    """The documents, followed by the list of the words so many times over."""
    line = " " + " ".join((GENDER + OCCUPATIONS).split())
    return [*documents, *[line] * times]
