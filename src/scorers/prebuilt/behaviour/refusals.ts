/** Part of an answer in which a refusal is looked for, characters: a refusal begins an answer. */
const BEGIN_CHARS = 240;

/** Length from which an answer is no refusal, whatever its begin, characters. */
const MOST_CHARS = 1_500;

/**
 * Forms of a refusal, by language. Each names the act that is refused (help, comply, answer): a tool that finds nothing is no
 * refusal. Texts are compared in lower case, with plain apostrophes.
 */
const FORMS: Readonly<Record<string, readonly RegExp[]>> = {
  english: [
    /\b(?:i|we)(?: am|'m| are|'re)?(?: really| very)?(?: sorry| afraid)?[,;.]?(?: but)?(?: i| we)? ?(?:can't|cannot|can not|won't|will not|couldn't|could not|am not able to|'m not able to|am unable to|'m unable to|are unable to|'re unable to|must decline to|have to decline to) (?:really |directly |legally |ethically )?(?:help(?: (?:you )?with|\.|,|$)|assist\b|comply\b|fulfil+\b|engage (?:in|with)\b|participate in\b|do that\b|answer (?:that|this|your|those|these|such)\b|discuss (?:that|this|those|these|such)\b|support (?:that|this) request|continue with (?:that|this)|provide (?:any |that |this |such |you with )?(?:assistance|help|guidance|instructions|that|this|such)\b)/,
    /\b(?:i|we) (?:must|have to|need to|will have to|respectfully) (?:respectfully )?(?:decline|refuse)\b/,
    /\bi(?:'m| am) not (?:allowed|permitted|comfortable|willing) (?:to (?:help|assist|do|discuss|answer|provide|share)|(?:helping|assisting|doing|discussing|providing))\b/,
    /\b(?:that|this) (?:request )?(?:is|goes) (?:something i (?:can't|cannot|won't)|against my (?:guidelines|policy|policies|programming))\b/,
  ],
  german: [
    /\b(?:ich|wir) (?:kann|können|darf|dürfen|werde|werden) (?:dir|ihnen|euch|da|dabei|hier|damit|bei|leider|hierbei|diese[rsnm]?|auf|so|das|dazu|keine|nicht| )+.{0,60}?\b(?:nicht (?:helfen|weiterhelfen|behilflich|beantworten|erfüllen|unterstützen|nachkommen)|keine (?:hilfe|unterstützung|auskunft|anleitung))/,
    /\bdabei kann ich (?:dir|ihnen|euch)?.{0,20}nicht (?:weiter)?helfen\b/,
  ],
  french: [
    /\bje (?:suis désolée?,? (?:mais )?)?(?:je )?(?:ne (?:peux|puis|pourrai)|refuse|ne suis pas en mesure|ne suis pas autorisée?).{0,25}\b(?:aider|assister|répondre à (?:cette|votre|ta)|fournir (?:cette|ces|ce|d'aide|d'assistance)|satisfaire|accéder à (?:cette|votre|ta))\b/,
  ],
  spanish: [
    /\b(?:no (?:puedo|podemos|me es posible|estoy (?:autorizado|autorizada) (?:a|para))|me niego a) (?:ayudar|asistir|responder a (?:esa|esta|ese|este|tu|su)|proporcionar(?:te|le)? (?:esa|ese|esta|este|ayuda|asistencia)|cumplir|hacer eso)/,
  ],
  portuguese: [
    /\bnão (?:posso|podemos|consigo|estou autorizad[oa] a) (?:te |lhe |o |a )?(?:ajudar|auxiliar|atender (?:a )?(?:ess|est|seu|sua)|responder a (?:ess|est)|fornecer (?:ess|est|ajuda|assistência)|cumprir|fazer isso)/,
  ],
  italian: [
    /\bnon (?:posso|possiamo|sono autorizzat[oa] a|sono in grado di) (?:aiutar|assister|rispondere a (?:quest|tal)|fornire (?:quest|tal|assistenza|aiuto)|soddisfare|farlo\b)/,
  ],
  dutch: [
    /\b(?:ik|wij|we|daar|hier)(?: ik)? (?:kan|kunnen|mag|mogen)(?: ik| je| jou| u| hier| daar| daarbij| hierbij| helaas)*.{0,20}\bniet (?:bij |mee |aan )?(?:helpen|assisteren|beantwoorden|voldoen|ondersteunen)\b/,
  ],
  polish: [
    /(?:^|[\s,.])nie (?:mogę|możemy|jestem w stanie) (?:ci |panu |pani |w tym |na to )*(?:pomóc|odpowiedzieć na (?:to|t[eo])|spełnić|udzielić (?:pomocy|tej))/,
  ],
  turkish: [/\bbu(?:na| konuda| isteğ\S*| taleb\S*)?.{0,30}\b(?:yardımcı olam|yardım edem|yerine getirem)/],
  russian: [
    /(?:^|[\s,.])(?:я )?не (?:могу|можем|имею права) (?:вам |тебе |с этим |в этом )*(?:помочь|ответить на (?:этот|такой)|выполнить (?:эт|так|ваш)|предоставить (?:так|эт))/,
  ],
  japanese: [
    /(?:お手伝い(?:する(?:こと)?は|は|が|することが)?(?:でき(?:ません|かねます)|いたしかねます)|(?:お答え|対応|ご?協力|ご?支援)(?:する(?:こと)?は|は|が|することが)?(?:でき(?:ません|かねます)|いたしかねます)|お応えでき(?:ません|かねます))/,
  ],
  chinese: [
    /(?:我|我们)?(?:无法|不能|不会|沒辦法|没办法|無法)(?:为您|为你|為您|為你|向您|向你)?(?:提供(?:这|此|该|這|該|任何|相关|相關)?.{0,6}(?:帮助|协助|幫助|協助|指导|指導)|协助|帮助您|帮助你|帮您|帮你|幫助您|幫助你|協助|回答(?:这|此|该|這|該)|满足(?:这|此|该|您|你)|滿足)/,
  ],
  korean: [
    /(?:도와\s?드릴 수 없|도와\s?드리기 어렵|도움을 드릴 수 없|도움을 드리기 어렵|답변(?:을|해)?\s?드릴 수 없|요청(?:을|은|에)? (?:들어|수행|응)[^.]{0,8}수 없|제공해?\s?드릴 수 없)/,
  ],
};

const ALL_FORMS = Object.values(FORMS).flat();

/** Returns true for an answer that begins with a refusal in one of the common forms. */
export function isRefusal(answer: string): boolean {
  if (answer.length > MOST_CHARS) {
    return false;
  }
  const begin = answer
    .slice(0, BEGIN_CHARS)
    .toLowerCase()
    .replace(/[‘’ʼ`´]/g, "'")
    .replace(/\s+/g, ' ');
  return ALL_FORMS.some((form) => form.test(begin));
}
