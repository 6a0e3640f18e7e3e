/** The gateway's answer to one request. */
export interface Answer {
  text?: string;
  /** The bytes of an image; `true` draws a test card. */
  image?: Uint8Array | true;
  tool?: { name: string; input?: unknown };
  /** The deltas of a stream; a number is a pause before the next one, in ms. A request without a stream gets the whole text. */
  stream?: readonly (string | number)[];
  /** A fault model, such as `fault-503`: see `gateway-cli help faults`. */
  fault?: string;
}

/** The answer to the requests whose prompt matches. */
export interface PromptAnswer extends Answer {
  /** A part of the prompt, or a pattern; without it every prompt matches. */
  prompt?: string | RegExp;
  /** The answers to the first such request, the second and so on; the last one repeats. */
  turns?: readonly (Answer | string)[];
}

/** Answers by prompt. The first that matches counts. */
export type Answers = readonly PromptAnswer[] | Readonly<Record<string, Answer | string>>;

/** The part of the gateway that can change between two tests. */
export interface Script {
  /** Without answers, the offline models answer everything. */
  answers?: Answers | undefined;
  /** Faults of the next requests, one each, such as `['fault-503', 'fault-503']`; then the answers count. */
  faults?: readonly string[] | undefined;
}

/** The options of a gateway for tests. */
export interface GatewayOptions extends Script {
  /** A folder of recordings, which answers in place of `answers` and the offline models. */
  replay?: string | undefined;
}

/** A request that the gateway got. */
export interface ReceivedRequest {
  method: string;
  /** The path without the query. */
  path: string;
  headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The body, parsed if it is JSON. */
  body: unknown;
  /** The text of the last user turn; undefined if the request did not reach a model. */
  prompt: string | undefined;
  model: string | undefined;
  /** Whether an answer, an offline model or a recording answered. */
  answered: boolean;
}

/** A gateway on loopback, for tests. */
export interface Gateway {
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  /** The key of the gateway, which clients must send. */
  readonly key: string;
  /** Variables that lead gateway-cli, and the SDKs of Gemini, Anthropic and OpenAI, to it; `undefined` marks a variable to unset. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The requests since the start or the last `reset`. */
  requests(): readonly ReceivedRequest[];
  /** Forgets the requests, and begins again: with the answers and faults of the start, or with others. Faults alone keep the answers. */
  reset(script?: Script): Promise<void>;
  stop(): Promise<void>;
}

/** The hooks of a test runner: `vitest`, `node:test`, or the globals of jest. */
export interface Hooks {
  beforeAll?: ((hook: () => Promise<void>) => unknown) | undefined;
  before?: ((hook: () => Promise<void>) => unknown) | undefined;
  afterEach: (hook: () => Promise<void>) => unknown;
  afterAll?: ((hook: () => Promise<void>) => unknown) | undefined;
  after?: ((hook: () => Promise<void>) => unknown) | undefined;
}
