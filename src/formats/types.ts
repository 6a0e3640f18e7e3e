/** The name of a format. */
export type FormatName = 'content' | 'messages' | 'completions';

/** A row of the table of keys (formats 1): a format, and of the content format what is asked for. */
export type AuthUse = 'text' | 'image' | Exclude<FormatName, 'content'>;

/** In what a service differs from others of its format. */
export interface Quirks {
  /** Which service it is: what it signed goes back to it alone. */
  service: string;
  /** The field that limits the tokens of an answer, where the format has two. */
  maxTokensField?: 'max_tokens' | 'max_completion_tokens' | undefined;
  /** A stream tells its usage only where it is asked to. */
  includeUsage?: boolean | undefined;
  /** Pictures have an operation of their own. */
  imagesOperation?: boolean | undefined;
}
