declare module 'sentiment' {
  class Sentiment {
    /** `comparative`: sum of the word scores ÷ number of words. */
    analyze(phrase: string): { comparative: number };
  }
  export = Sentiment;
}
