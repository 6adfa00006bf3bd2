"""The published figures of the 51 states (50 and the District of Columbia) from which `census_like` is generated.

Source:
    U.S. Census Bureau, public domain. Households of size 1, ..., 6 and of 7 or more: Census 2000 Summary File 1, table
    H13, summed over tracts. Population: the same file. Number of counties (or equivalents): Census 2010.

    People in group quarters are derived, not published in this form: the sum over tracts of the population less
    households times their average size, which is printed with two decimals. They are therefore rounded: 7,823,156 in
    the nation, where the census itself counted 7,778,633.
"""

from dataclasses import dataclass
from functools import lru_cache

HOUSEHOLDS = 105_480_101
"""Households of the nation, Census 2000."""

DIVISIONS = {
    "NE": "New England",
    "MA": "Middle Atlantic",
    "ENC": "East North Central",
    "WNC": "West North Central",
    "SA": "South Atlantic",
    "ESC": "East South Central",
    "WSC": "West South Central",
    "MTN": "Mountain",
    "PAC": "Pacific",
}
"""The nine divisions of the census by the abbreviations of the table below, in the census's order."""


@dataclass(frozen=True)
class StateFigures:
    """The figures of one state.

    Attributes:
        name: e.g. "Alabama".
        abbreviation: of the postal service, e.g. "AL".
        division: name of its census division, e.g. "East South Central".
        n_counties: counties or equivalents in 2010; 3,143 in all.
        households: number of households of size 1, ..., 6 and of 7 or more; 7 numbers.
        population: people.
        group_quarters: people who live in group quarters (dormitories, prisons, nursing homes, barracks); derived, see
            the module.
    """

    name: str
    abbreviation: str
    division: str
    n_counties: int
    households: tuple[int, ...]
    population: int
    group_quarters: int

    @property
    def mean_of_seven_or_more(self) -> float:
        """The mean size of the households of 7 or more: everybody else lives in smaller ones or group quarters.

        (population - group_quarters - sum over k < 7 of k n_k) / n_7+: 8.03 in the nation, 7.57 to 8.56 by state.
        `test_datasets_census_like.py::test_mean_of_seven_or_more` holds it there.
        """
        smaller = sum(size * n for size, n in enumerate(self.households[:-1], start=1))
        return (self.population - self.group_quarters - smaller) / self.households[-1]


@lru_cache(maxsize=1)
def states() -> tuple[StateFigures, ...]:
    """List the states in alphabetical order.

    Example:
        >>> alabama = states()[0]
        >>> alabama.name, alabama.households
        ('Alabama', (453898, 579336, 314914, 245212, 97142, 30509, 16069))
        >>> round(alabama.mean_of_seven_or_more, 2)
        7.74
    """
    return tuple(_state(line) for line in _TABLE.strip().splitlines())


def _state(line: str) -> StateFigures:
    name, abbreviation, division, *numbers = (cell.strip() for cell in line.split("|"))
    n_counties, *households, population, group_quarters = map(int, numbers)
    return StateFigures(
        name, abbreviation, DIVISIONS[division], n_counties, tuple(households), population, group_quarters
    )


# state | postal abbreviation | division | counties | households of size 1, ..., 6, 7+ | population | group quarters
_TABLE = """
Alabama             |AL|ESC| 67| 453898| 579336| 314914| 245212|  97142|  30509|  16069| 4447100|115742
Alaska              |AK|PAC| 29|  52060|  68032|  38104|  34348|  16714|   6993|   5349|  626932| 19397
Arizona             |AZ|MTN| 15| 472006| 665357| 281032| 246143| 130223|  58202|  48364| 5130632|111050
Arkansas            |AR|WSC| 75| 266585| 366274| 179996| 140590|  58463|  19536|  11252| 2673400| 74591
California          |CA|PAC| 58|2708308|3408296|1841968|1707961| 927539| 450920| 457878|33871648|823404
Colorado            |CO|MTN| 64| 435778| 564662| 264228| 233303| 100380|  36483|  23404| 4301261|103795
Connecticut         |CT|NE |  8| 344224| 424186| 215349| 194395|  83585|  26564|  13367| 3405565|108796
Delaware            |DE|SA |  3|  74639| 102181|  51537|  42582|  18127|   6177|   3493|  783600| 24844
District of Columbia|DC|SA |  1| 108744|  68334|  31709|  20089|  10457|   4807|   4198|  572059| 35628
Florida             |FL|SA | 67|1687303|2330104| 977117| 776458| 351132| 132086|  83729|15982378|391911
Georgia             |GA|SA |159| 710523| 963782| 550858| 460639| 199642|  72511|  48414| 8186453|235278
Hawaii              |HI|PAC|  5|  88153| 119631|  71878|  59999|  31598|  15291|  16690| 1211537| 35896
Idaho               |ID|MTN| 44| 105175| 163482|  74571|  67421|  33851|  15609|   9536| 1293953| 31626
Illinois            |IL|ENC|102|1229807|1412418| 734189| 660575| 330510| 128726|  95554|12419293|323688
Indiana             |IN|ENC| 92| 605428| 789585| 388830| 332367| 145953|  48453|  25690| 6080485|179133
Iowa                |IA|WNC| 99| 313083| 408869| 170849| 154338|  69584|  22161|  10392| 2926324|104673
Kansas              |KS|WNC|105| 280387| 352305| 159448| 143148|  67024|  23235|  12344| 2688418| 82502
Kentucky            |KY|ESC|120| 414095| 539711| 292375| 223407|  84207|  24943|  11909| 4041769|115522
Louisiana           |LA|WSC| 64| 419200| 511428| 301865| 244615| 113491|  40278|  25176| 4468976|136711
Maine               |ME|NE | 16| 139969| 190804|  82223|  69418|  25602|   7253|   2931| 1274923| 34924
Maryland            |MD|SA | 24| 495459| 630761| 350863| 296435| 131226|  47468|  28647| 5296486|134980
Massachusetts       |MA|NE | 14| 684345| 774129| 400166| 353184| 154831|  50905|  26020| 6349097|222026
Michigan            |MI|ENC| 83| 993607|1247892| 610868| 542690| 249366|  89020|  52218| 9938444|251152
Minnesota           |MN|WNC| 87| 509468| 641694| 283467| 273585| 123222|  40228|  23463| 4919479|136413
Mississippi         |MS|ESC| 82| 257708| 327377| 194171| 155180|  70292|  25324|  16382| 2844658| 95740
Missouri            |MO|WNC|115| 599808| 745803| 355321| 298735| 129318|  43052|  22557| 5595211|162649
Montana             |MT|MTN| 56|  98422| 129144|  53287|  46401|  20372|   7106|   3935|  902195| 24979
Nebraska            |NE|WNC| 93| 183550| 228394|  99456|  88835|  43298|  14980|   7671| 1711263| 51063
Nevada              |NV|MTN| 17| 186745| 259230| 120525|  96759|  49735|  21522|  16649| 1998257| 34321
New Hampshire       |NH|NE | 10| 116014| 165660|  78486|  73491|  28656|   8533|   3766| 1235786| 35712
New Jersey          |NJ|MA | 21| 751287| 927529| 531620| 490510| 229192|  82308|  52199| 8414350|196349
New Mexico          |NM|MTN| 33| 172181| 219502| 110766|  95632|  47658|  19179|  13053| 1819046| 36669
New York            |NY|MA | 62|1982742|2090988|1156940|1000421| 491090| 193809| 140870|18976457|583401
North Carolina      |NC|SA |100| 795271|1092738| 560436| 430684| 166885|  54033|  31966| 8049313|254943
North Dakota        |ND|WNC| 53|  75420|  89355|  37103|  33279|  15368|   4633|   1994|  642200| 23740
Ohio                |OH|ENC| 88|1215614|1484469| 729645| 612614| 269997|  88970|  44464|11353140|301744
Oklahoma            |OK|WSC| 77| 358560| 461285| 220501| 180902|  79508|  27003|  14534| 3450654|112957
Oregon              |OR|PAC| 36| 347624| 479843| 205466| 174236|  76944|  29188|  20422| 3421399| 77700
Pennsylvania        |PA|MA | 67|1320941|1587227| 783820| 659158| 282655|  93457|  49745|12281054|434416
Rhode Island        |RI|NE |  5| 116678| 130732|  67356|  57638|  24253|   7804|   3963| 1048319| 38917
South Carolina      |SC|SA | 46| 383142| 521599| 276789| 217449|  88982|  29387|  16506| 4012012|135448
South Dakota        |SD|WNC| 66|  80040| 100176|  42498|  38260|  18500|   6593|   4178|  754844| 28529
Tennessee           |TN|ESC| 95| 576401| 766259| 404608| 307454| 119216|  37845|  21122| 5689283|148974
Texas               |TX|WSC|254|1752141|2258060|1264381|1128749| 577708| 236233| 176082|20851820|565228
Utah                |UT|MTN| 29| 124756| 202904| 115417| 111697|  71395|  42686|  32426| 2233169| 40804
Vermont             |VT|NE | 14|  63112|  86630|  38195|  34431|  12915|   3744|   1607|  608827| 20935
Virginia            |VA|SA |134| 676907| 909785| 481924| 389204| 157215|  53514|  30624| 7078515|232850
Washington          |WA|PAC| 39| 594325| 780008| 358463| 315798| 137873|  50877|  34054| 5894121|137517
West Virginia       |WV|SA | 55| 199587| 259239| 132860|  96168|  34636|   9820|   4171| 1808344| 43367
Wisconsin           |WI|ENC| 72| 557875| 721452| 320561| 290716| 127921|  42270|  23749| 5363675|156288
Wyoming             |WY|MTN| 23|  50980|  69405|  30028|  25786|  11435|   3906|   2068|  493782| 14234
"""
