import { isCutFinish } from '../trace/halt.ts';

/** Reasons why an answer is of no use. `none`: the run has no answer. `apology`: it says that it is sorry, and nothing else. */
export const ANSWER_FAULTS = ['none', 'empty', 'cut', 'refusal', 'apology'] as const;
export type AnswerFault = (typeof ANSWER_FAULTS)[number];

/** Length from which an answer is neither refusal nor apology, characters: it says something beside. */
const MOST_CHARS = 1_500;

/**
 * Forms of a refusal, by language. Each names the act that is refused (help, comply, answer): a tool that finds nothing is no
 * refusal. Texts are compared in lower case, with plain apostrophes, one clause after the other.
 */
const REFUSALS: Readonly<Record<string, RegExp>> = {
  english: anyOf(
    `\\b(?:i|we)(?:'m| am| are|'re)? (?:really |simply |unfortunately |regretfully |just |also )*(?:can't|cannot|can not|won't|will not|couldn't|could not|not able to|unable to|(?:not|don't|do not) (?:feel )?(?:able to |allowed|permitted|comfortable|willing|authori[sz]ed|in a position|programmed|going)(?: to)?|won't be able to|will not be able to|refuse to) (?:be able to |be of |in good conscience |really |directly |legally |ethically |currently )*(?:help(?:ing)?(?: (?:you|with|anyone|out|here)\\b|$)|(?:any )?(?:help|assistance)\\b|assist(?:ing)?\\b|comply\\b|oblige\\b|fulfil+\\b|engage (?:in|with)\\b|participate\\b|(?:do|doing|support|accommodate|complete|process|satisfy|continue with|proceed with|discuss(?:ing)?|answer|share|facilitate|generate|create|write) (?:that|this|it|your|those|these|such)\\b|(?:provide|providing|offer|give)(?: you)?(?: with)? (?:any |that |this |these |those |such |(?:\\w+ )?advice|assistance|help|guidance|instructions|information (?:on|about) (?:that|this)))`,
    `\\b(?:i|we) (?:must|have to|need to|will have to|am going to have to|'ll have to|would like to) (?:respectfully |politely )?(?:decline|refuse|pass on)\\b`,
    `\\b(?:doesn't|don't|does not|do not) (?:allow|permit) (?:me|us) to\\b|\\b(?:i|we) (?:have been|was|am|'m|were|are)? ?(?:been )?instructed not to\\b`,
    `\\bi(?:'d| would) rather not\\b|\\bi (?:respectfully |politely )?(?:decline|refuse)\\b|\\b(?:don't|do not) think (?:i|we) can (?:help|assist|answer|do)\\b`,
    `\\b(?:that|this)(?:'s| is) (?:not something (?:that )?(?:i|we) (?:can|could|am able to|will|do)\\b|something (?:that )?(?:i|we) (?:can't|cannot|won't|am unable to)\\b|(?:beyond|outside|out of) (?:of )?(?:what (?:i|we)|my|our))`,
    `\\b\\w+ing [^.!?]{0,60}?(?:'s| is) (?:(?:not|beyond|outside|out) (?:of )?(?:something|what) (?:that )?(?:i|we) (?:can|could|am able to|will)\\b|something (?:that )?(?:i|we) (?:can't|cannot|won't|am unable to)\\b)`,
    `\\b(?:that|this|your) (?:request |question )?(?:goes against|violates) (?:my|our)\\b|\\b(?:that|this|your) request (?:can't|cannot|can not) be (?:fulfilled|completed|processed|supported)`,
    `^(?:i|we) (?:can't|cannot|won't)(?: do (?:that|this|it))?(?: for you)?$`,
  ),
  german: anyOf(
    `\\b(?:ich|wir|kann|können|darf|dürfen|werde|möchte) (?:kann|können|darf|dürfen|werde|werden|möchte|bin|ich|wir)\\b[^.!?]{0,70}?\\b(?:nicht (?:dabei |damit |weiter |hierbei |mit |bei )*(?:\\S+ )?(?:helfen|weiterhelfen|behilflich|beantworten|erfüllen|unterstützen|nachkommen|entsprechen|ausführen)|nicht(?: tun| machen)?$|keine (?:hilfe|unterstützung|auskunft|auskünfte|anleitung|informationen dazu))`,
    `\\bnicht (?:in der lage|befugt|berechtigt|autorisiert),? .{0,50}\\b(?:helfen|weiterzuhelfen|behilflich|beantworten|erfüllen|unterstützen|nachzukommen|auskunft)`,
    `\\b(?:ich|wir) (?:muss|müssen)\\b.{0,40}\\b(?:ablehnen|zurückweisen|verweigern)|\\bdazu (?:kann|darf|möchte) (?:ich|wir)\\b.{0,20}\\bnichts sagen|\\b(?:ich|wir) (?:lehne|lehnen|verweigere)\\b`,
  ),
  french: anyOf(
    `\\b(?:je|nous) (?:ne (?:peux|puis|pourrai|pouvons|saurais|suis pas (?:en mesure|autorisée?|habilitée?))|n'ai pas le droit|refuse).{0,40}?\\b(?:aider|assister|répondre à (?:cette|ce|votre|ta)|fournir (?:cette|ces|ce|d'aide|d'assistance)|satisfaire|accéder à (?:cette|votre|ta)|donner suite|traiter (?:cette|votre|ta)|faire (?:cela|ça)|le faire|de vous|de t')`,
    `\\b(?:je|nous) (?:dois|devons|suis obligée? de) (?:malheureusement )?(?:refuser|décliner)|\\bil m'est impossible de (?:vous |t'|te )?(?:aider|assister|répondre|donner suite|satisfaire)`,
  ),
  spanish: anyOf(
    `\\b(?:no (?:te |le |os |les )?(?:puedo|podemos|podré|podría|me es posible|estoy (?:autorizad[oa] (?:a|para)|en condiciones de)|soy capaz de|tengo permitido)|me niego a) (?:ayudar|asistir|atender|responder a (?:es[aeo]|est[ae]|tu|su)|contestar (?:es|est)|proporcionar(?:te|le)? (?:es[ae]|est[ae]|ayuda|asistencia)|brindar|ofrecer(?:te|le)? (?:ayuda|asistencia)|cumplir|hacer (?:eso|esto)|hacerlo|procesar (?:es|est|tu|su))`,
    `\\b(?:debo|tengo que) (?:rechazar|declinar)|\\ben eso no (?:te |le )?puedo ayudar`,
  ),
  portuguese: anyOf(
    `\\bnão (?:te |lhe |o |a )?(?:posso|podemos|consigo|poderei|me é possível|estou autorizad[oa] a|sou capaz de|tenho (?:permissão|autorização) para) (?:te |lhe |o |a )?(?:ajud|auxili|assist|atender (?:a )?(?:ess|est|seu|sua|ao)|responder (?:a )?(?:ess|est)|fornecer (?:ess|est|ajuda|assistência)|cumprir|fazer iss|fazê-lo|realizar (?:ess|est)|processar (?:ess|est|seu|sua))`,
    `\\b(?:devo|tenho que|tenho de|preciso) recusar|\\brecuso-me\\b`,
  ),
  italian: anyOf(
    `\\bnon (?:ti |la |le |vi )?(?:posso|possiamo|potrò|mi è possibile|sono autorizzat[oa] a|sono in grado di|mi è permesso) (?:proprio |purtroppo )?(?:aiutar|assister|essere (?:d'aiuto|di aiuto)|rispondere a (?:quest|tal)|fornir\\S* (?:quest|tal|assistenza|aiuto)|soddisfare|esaudire|farlo\\b|dare seguito|fare quest|elaborare (?:quest|la tua|la sua))`,
    `\\b(?:devo|dobbiamo) (?:rifiutare|declinare)|\\bmi rifiuto\\b`,
  ),
  dutch: anyOf(
    `\\b(?:kan|kunnen|mag|mogen|wil|zal) (?:ik|we|wij)\\b.{0,40}?\\bniet (?:bij |mee |aan |mee te |verder )*(?:helpen|assisteren|beantwoorden|voldoen|ondersteunen|doen\\b)`,
    `\\b(?:ik|wij|we) (?:kan|kunnen|mag|mogen|wil|zal)\\b.{0,40}?\\bniet (?:bij |mee |aan |mee te |verder |met .{0,30})*(?:helpen|assisteren|beantwoorden|voldoen|ondersteunen|doen$)`,
    `\\b(?:ik|we|wij) (?:moet|moeten)\\b.{0,30}\\b(?:weigeren|afwijzen)|\\bniet in staat\\b.{0,40}\\b(?:helpen|beantwoorden|voldoen|ondersteunen)`,
  ),
  polish: anyOf(
    `(?:^|[\\s,.])nie (?:mogę|możemy|jestem w stanie) (?:ci |panu |pani |w tym |na to )*(?:pomóc|odpowiedzieć na (?:to|t[eo])|spełnić|udzielić (?:pomocy|tej))`,
  ),
  turkish: anyOf(
    `\\bbu(?:na| konuda| isteğ\\S*| taleb\\S*)?.{0,30}\\b(?:yardımcı olam|yardım edem|yerine getirem)`,
  ),
  russian: anyOf(
    `(?:^|[\\s,.])(?:я )?не (?:могу|можем|имею права) (?:вам |тебе |с этим |в этом )*(?:помочь|ответить на (?:этот|такой)|выполнить (?:эт|так|ваш)|предоставить (?:так|эт))`,
  ),
  japanese: anyOf(
    `(?:お手伝い|お答え|お応え|ご?回答|ご?対応|ご?協力|ご?支援|サポート|ご?提供|お力に(?:なること|なれ)|それ|これ|ご?案内)(?:する(?:こと)?|を?いたすこと)?(?:は|が|を)?(?:ません$|でき(?:ません|ない|かねます|兼ねます)|いたしかねます|致しかねます|しかねます)`,
    `お断り(?:します|いたします|させて)|(?:ご要望|リクエスト|ご?依頼|ご質問)(?:には|に)(?:お応え|お答え|対応)(?:でき|いたしかね|しかね)`,
  ),
  chinese: anyOf(
    `(?:无法|不能|不会|不可以|没法|沒辦法|没办法|無法|不方便)(?:为|為|向|给|給|跟)?(?:您|你)?(?:提供(?:这|此|该|這|該|任何|相关|相關|该类|此类)?.{0,6}(?:帮助|协助|幫助|協助|指导|指導|信息|資訊|内容|服务)|协助|帮(?:助|忙|到|您|你)|幫(?:助|忙|到|您|你)|協助|回答(?:这|此|该|這|該|您|你)|满足(?:这|此|该|您|你)|滿足|完成(?:这|此|该|這|該|您|你)|处理(?:这|此|该|您|你)|處理|這樣做|这样做|参与|做(?:这|此|该|那))`,
    `帮不了|幫不了|帮不上|爱莫能助|愛莫能助|(?:我|必须|只能|需要)(?:拒绝|拒絕|谢绝|婉拒)`,
  ),
  korean: anyOf(
    `(?:도와\\s?드릴 수 없|도와\\s?드리기 어렵|도움을 드릴 수 없|도움을 드리기 어렵|답변(?:을|해)?\\s?드릴 수 없|요청(?:을|은|에)? (?:들어|수행|응)[^.]{0,8}수 없|제공해?\\s?드릴 수 없)`,
  ),
};

const REFUSAL = Object.values(REFUSALS);

/** Beginnings of clauses that say sorry, or that something failed without saying what. */
const SORRY =
  /^(?:(?:i'm|i am|we're|we are) (?:\w+ )?sorry|(?:so |very )?sorry|(?:my|our) (?:\w+ )?apolog|(?:please )?(?:accept|excuse)|(?:i|we) (?:\w+ )?apologi[sz]e|apologies|oops|(?:something|it seems something) went wrong|(?:an?|some)(?: \w+)? (?:error|problem|issue) (?:has )?occurred|(?:i|we)(?: have|'ve)? (?:encountered|ran into|run into|experienced|hit) (?:an?|some) (?:\w+ )?(?:error|problem|issue|difficult)|(?:i|we) (?:was|were|am|are) (?:unable|not able) to (?:complete|process|finish|handle) (?:your|the|that|this)|(?:es )?tut (?:mir|uns)|entschuldig|verzeih|ich bitte um|etwas ist schief|(?:da |hier )?ist (?:etwas|leider) (?:etwas )?schief|(?:es ist )?ein (?:\S+ )?fehler (?:ist )?aufgetreten|(?:je suis |nous sommes )?(?:vraiment |sincèrement )?désolée?|je (?:m'excuse|vous présente)|toutes mes excuses|une erreur|un problème est survenu|lo (?:siento|lamento)|(?:le |te )?pido disculpas|disculp|perdón|algo (?:salió|ha salido|fue) mal|(?:ha ocurrido|ocurrió|se (?:ha )?produ\S+) un (?:error|problema)|desculp|(?:peço|as minhas|minhas) desculpas|(?:lamento|sinto muito)|algo (?:deu errado|correu mal)|ocorreu um (?:erro|problema)|mi (?:dispiace|scuso)|(?:ti |le )?chiedo scusa|scus|qualcosa è andato|si è verificato un (?:errore|problema)|het spijt|excuses|(?:mijn|onze) excuses|er (?:is|ging) iets mis|er is een (?:fout|probleem)|申し訳|すみません|ごめん|大変失礼|(?:エラー|問題)が(?:発生|起き)|抱歉|对不起|對不起|非常抱歉|很抱歉|不好意思|(?:出错了|出現錯誤|出现(?:了)?(?:错误|问题)|发生(?:了)?错误))/;

/** Words of regret that stand before what is said. */
const PREFIX =
  /^(?:(?:i'm|i am|we're|we are)? ?(?:\w+ )?sorry(?: about (?:that|this)| for (?:the \w+|that|this|any \w+))?|(?:my |our )?apologies|(?:i|we) apologi[sz]e|unfortunately|regrettably|leider|(?:es )?tut mir (?:\w+ )?leid|entschuldig\S*|(?:je suis )?(?:vraiment )?désolée?|malheureusement|lo (?:siento|lamento)(?: mucho)?|lamentablemente|desculpe|infelizmente|lamento|mi dispiace|purtroppo|het spijt me|helaas|申し訳(?:ございません|ありません)|すみません|(?:很|非常)?抱歉|对不起|對不起)[\s,.!;:，。、！]*(?:(?<=, )[^\s,.!?;:]{2,20}(?: [^\s,.!?;:]{2,20}){0,2}, )?(?:(?:but|aber|doch|mais|pero|mas|ma|maar|が|但是|但|不过)[\s,，、]+)?/;

/** Beginnings of clauses that add nothing: a reason, an offer, a way to somebody else, a courtesy. */
const FILLER =
  /^(?:(?:(?:it|that|this|such \w+|these|those|doing so)(?:'s| is| are| would be) (?:against|not|illegal|harmful|unsafe|dangerous|outside|beyond|important|a violation|unethical|inappropriate)|(?:it|that|this|such \w+|doing so|that request|this request|your request) (?:violates?|goes?|could|would|may|might|falls?|requires?|involves?)|my (?:guide|poli|purpose|role|instruct)|our (?:guide|poli|terms)|as an? |because|since|due to|for (?:your|safety|legal|privacy|more|further|help|any)|in (?:such|this|that|any) case|instead|otherwise|however|thank|thanks|hi|hello|hey|please|kindly|try|feel free|let me know|if |you (?:can|could|may|might|should|will need)|is there|are there|would you|do you|can i|how (?:can|may|else)|what else|there (?:are|is) (?:other|many|no)|consider|contact|call|reach out|visit|talk to|speak|i (?:understand|appreciate|know|hope|wish|realize|recogni[sz]e|can (?:help|assist|offer|suggest|only|share|try|answer|instead|also)|could|would|don't|do not|am (?:here|happy|an|just|only|designed|not|unable)|have to|need|recommend|suggest|encourage|strongly)|(?:i|we)'(?:m|d|ll|re)|we (?:understand|appreciate|can|could|would|recommend|are)|happy to|glad to)\b|(?:das|dies|diese \S+) (?:ist (?:gegen|nicht|illegal|leider)|geht|verstößt|verstoßen|widerspricht|liegt|gehört|würde|könnte)|dafür (?:bin|gibt)|meine (?:richtlinien|vorgaben)|weil|da |aus (?:rechtlichen|sicherheits)|bitte|wende|wenn|falls|gern|sie (?:können|sollten)|du (?:kannst|solltest)|kann ich|wie kann|gibt es|ich (?:bin|kann|verstehe|empfehle|rate|helfe|darf|hoffe|möchte|würde)|danke|hallo|probier|versuch|vielleicht|(?:cela|ça|ce serait|c'est|cette demande) (?:contre|va|viole|enfreint|pas|illégal|dangereux|contraire|\S+ (?:contre|pas))|mes (?:directives|règles)|parce|car |veuillez|merci|bonjour|si |n'hésitez|vous pouvez|tu peux|puis-je|comment|y a-t-il|je (?:suis|peux|vous|te|comprends|recommande|serais)|réessayez|(?:es[oa]|est[oa])(?: \S+)? (?:va|viola|infringe|no|es (?:ilegal|contrario|peligroso))|(?:mis|nuestras) (?:directrices|políticas|normas)|porque|por (?:favor|razones|motivos)|gracias|hola|si |puede|puedes|(?:yo )?(?:entiendo|comprendo|recomiendo|sugiero)|intént|(?:isso|iss?to|ess[ea] \S+|est[ea] \S+) (?:vai|viola|não|é (?:ilegal|contra|perigoso))|(?:minhas|nossas) (?:diretrizes|políticas|regras)|obrigad|olá|se |você pode|posso|há |entendo|compreendo|recomendo|sugiro|tente|quest[oa](?: \S+)? (?:va|viola|non|è (?:illegale|contrario|pericoloso))|le mie (?:linee|regole)|perché|per (?:favore|motivi|ragioni)|grazie|ciao|può|puoi|c'è|capisco|consiglio|suggerisco|riprova|la (?:prego|invito)|ti (?:prego|invito)|(?:dat|dit|deze \S+) (?:is (?:tegen|niet|illegaal)|gaat|schendt|valt|zou)|mijn (?:richtlijnen|regels)|omdat|vanwege|om (?:juridische|veiligheids)|bedankt|hallo|als |u kunt|je kunt|kan ik|hoe kan|is er|ik (?:ben|kan|begrijp|raad|adviseer|help|zou)|neem|probeer|raadpleeg|恐れ入り|恐縮|(?:その|この)(?:よう|件|ため|ご)|(?:これ|それ)は(?:違|私|当|規)|ご(?:了承|理解|不便|質問)|別の|他の|ほか|何か|もし|しばらく|後ほど|もう一度|どうか|よろしく|(?:我(?:是|可以|理解|明白|建议|建議|只)|(?:这|這|此|该|該)(?:类|類|个|個|项|項|种|種)?(?:请求|請求|问题|問題|内容|內容|话题|話題|要求|操作|行为|不|违|違|可能)|请|請|如果|如有|若|您可以|你可以|建议|建議|谢谢|感谢|稍后|因为|由于))/;

/** Signs that something was done or found, in any clause: a list, code, a figure, or an act of the agent. */
const WORK =
  /\d|```|(?:^|\n)\s*(?:[-*•]|\d+[.)])\s|\b(?:(?:i|we)(?:'ve| have) (?!to\b|no\b|not\b|been (?:un|not)|run into|encountered|experienced|hit )\w+|(?:i|we) (?:did|found|booked|checked|looked|sent|updated|created|cancell?ed|changed|added|can (?:tell|confirm|see)|was able)|here(?:'s| is| are)|ich habe|wir haben|hier (?:ist|sind)|voici|j'ai|nous avons|aquí (?:está|tienes|tiene)|he \w+(?:ado|ido)|aqui (?:está|estão)|ecco|ho \w+(?:ato|uto|ito)|ik heb|hier (?:is|zijn))\b|以下|こちらが|しました|已(?:经|為|为)/;

/** Words with which an answer goes on after a refusal. */
const CONNECTOR =
  /[.!?;:…。！？；\n]+\s*|\s+[–—-]\s+|,?\s+(?:but|however|although|though|aber|jedoch|allerdings|doch|mais|cependant|toutefois|pero|sin embargo|aunque|mas|porém|no entanto|contudo|ma|tuttavia|però|maar|echter)[\s,]+|[，、,]?(?:ただし|しかし|けれども|が、|但是|不过|然而|但)[，、]?/;

/** Clauses at the begin of an answer of which one refuses or says sorry: an answer that says so later has done something before. */
const FIRST_CLAUSES = 4;

/** Least words, or characters without spaces, of a clause that says something. */
const LEAST_WORDS = 4;
const LEAST_CHARS = 5;

/** Finds why an answer is of no use; undefined for one that does at least a part of the work. */
export function findAnswerFault(
  answer: string | null,
  finishReason: string | undefined,
): AnswerFault | undefined {
  if (answer === null || answer.trim() === '') {
    return answer === null ? 'none' : 'empty';
  }
  return isCutFinish(finishReason ?? '') ? 'cut' : findEvasion(answer);
}

function findEvasion(answer: string): 'refusal' | 'apology' | undefined {
  if (answer.length > MOST_CHARS) {
    return undefined;
  }
  const text = answer
    .toLowerCase()
    .replace(/[‘’ʼ`´]/g, "'")
    .replace(/[^\S\n]+/g, ' ');
  const clauses = text
    .split(CONNECTOR)
    .map((clause) => clause.trim().replace(/^(?:[,，、*_>#]|and |und |et |y |e |en )+\s*/, ''))
    .filter((clause) => /\p{L}/u.test(clause));
  const isRefused = (clause: string) => REFUSAL.some((form) => form.test(clause.replace(PREFIX, '')));
  const begin = clauses.slice(0, FIRST_CLAUSES);
  if (!begin.some((clause) => SORRY.test(clause) || isRefused(clause))) {
    return undefined;
  }
  const refused = clauses.filter(isRefused);
  const rest = clauses.filter((clause) => !refused.includes(clause));
  if (rest.some(saysSomething) || (refused.length === 0 && /[?？]/.test(text))) {
    return undefined;
  }
  return refused.length > 0 ? 'refusal' : 'apology';
}

/** Returns true for a clause with content of its own. */
function saysSomething(clause: string): boolean {
  const said = clause.replace(PREFIX, '');
  if (
    said === '' ||
    SORRY.test(said) ||
    /^(?:please |bitte |por favor )?(?:call|contact|dial|if you|ruf|wenn sie)\b/.test(said)
  ) {
    return false;
  }
  if (WORK.test(said)) {
    return true;
  }
  const isLong = said.split(' ').length >= LEAST_WORDS || /\p{scx=Han}/u.test(said);
  return isLong && said.length >= LEAST_CHARS && !FILLER.test(said);
}

function anyOf(...patterns: readonly string[]): RegExp {
  return new RegExp(patterns.join('|'));
}
