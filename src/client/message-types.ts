import type { JsonObject } from '../json.ts';

/** A value out of these, or any other: gateways get new ones. */
type Known<Value extends string> = Value | (string & Record<never, never>);

/** Why an answer ended: a stop reason of the messages format, or a finish reason of the content format. */
export type StopReason = Known<
  | 'end_turn'
  | 'max_tokens'
  | 'stop_sequence'
  | 'tool_use'
  | 'pause_turn'
  | 'refusal'
  | 'model_context_window_exceeded'
  | 'STOP'
  | 'MAX_TOKENS'
  | 'SAFETY'
  | 'RECITATION'
  | 'PROHIBITED_CONTENT'
  | 'BLOCKLIST'
  | 'SPII'
  | 'LANGUAGE'
  | 'OTHER'
>;

/** A turn of the messages format. */
export interface Message {
  readonly role: Known<'user' | 'assistant' | 'system'>;
  readonly content: string | readonly ContentBlock[];
}

/** A part of a turn. Any interface with a `type` fits, and so does a block that came in `reply.content`. */
export type ContentBlock =
  | TextBlock
  | MediaBlock
  | ToolUseBlock
  | ToolResultBlock
  | { readonly type: string }
  | JsonObject;

export interface TextBlock {
  readonly type: 'text';
  readonly text: string;
}

/** A picture, or a document such as a PDF file. */
export interface MediaBlock {
  readonly type: 'image' | 'document';
  readonly source: object;
  readonly title?: string | undefined;
}

/** The call of a tool, as the model made it. */
export interface ToolUseBlock {
  readonly type: 'tool_use';
  readonly id: string;
  readonly name: string;
  readonly input: object;
}

/** What a tool answered to a call. */
export interface ToolResultBlock {
  readonly type: 'tool_result';
  readonly tool_use_id: string;
  readonly content?: string | readonly ContentBlock[] | undefined;
  readonly is_error?: boolean | undefined;
}

/** A tool that the model may call, in the messages format. One that the gateway runs has a `type` and fields of its own. */
export type Tool = ClientTool | JsonObject;

export interface ClientTool {
  readonly name: string;
  readonly description?: string | undefined;
  /** A JSON Schema. */
  readonly input_schema?: object | undefined;
  readonly type?: string | undefined;
}

/** A turn of the content format. */
export interface ContentTurn {
  readonly role?: Known<'user' | 'model'> | undefined;
  readonly parts: readonly object[];
}
