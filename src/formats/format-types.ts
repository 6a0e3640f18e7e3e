import type { Body } from '../upload.ts';
import type { Ask, Encoded } from './ask.ts';
import type { Decoder, TextRun } from './events.ts';
import type { FormatName } from './facts.ts';
import type { Turn } from './turns.ts';

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

/** What a decoder must know of the reply around its body. */
export interface ReplyHead {
  status: number;
  /** Lower-case names. */
  headers: Readonly<Record<string, string | undefined>>;
}

/** A wire format: how an ask is said in it, and how its replies are read. */
export interface Format {
  name: FormatName;
  /** The request of an ask. Throws GatewayError usage for a model or a body that cannot be sent. */
  encode(ask: Ask, quirks: Quirks): Encoded;
  /** A request that goes on with further turns, such as the results of tools. */
  append(body: Body, turns: readonly Turn[], quirks: Quirks): Body;
  createDecoder(head: ReplyHead): Decoder;
  /** Reads text deltas in their usual spelling where they are in the stream, without parsing each. */
  shortcut?: ((text: string, at: number, most: number) => Shortcut | undefined) | undefined;
  /** ms that the end of a body is waited for when the reply has stopped, or ended; undefined: as long as it takes. */
  patience: { stopped: number | undefined; ended: number };
  /** What a stream lacks that ends while it is open. */
  missingEnd: string;
  /** Path and query of a page of the list of models. */
  models(token?: string): { path: string; query: string };
  /** Names of the tools that a request offers. */
  toolNames(body: Body): string[];
  /** What a request allows at most, for the most that it can cost. */
  limits(body: Body): RequestLimits;
}

/** What a request allows at most. */
export interface RequestLimits {
  /** Of each candidate; undefined where nothing limits them. */
  maxTokens: number | undefined;
  candidates: number;
  /** Pictures; as many as candidates where it is absent. */
  images?: number | undefined;
}

interface Shortcut {
  value: TextRun;
  events: number;
  end: number;
}
