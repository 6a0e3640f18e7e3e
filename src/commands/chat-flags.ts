import type { PrintFlags } from './chat-print.ts';
import type { ChatRequestFlags } from './chat-request.ts';
import type { SessionFlags } from './chat-session.ts';
import type { ToolFlags } from './chat-tools.ts';
import type { ConnectionFlags } from './settings.ts';
import type { StdoutFlags } from './show-request.ts';

/** The flags of `chat`, as they were typed. */
export type AllChatFlags = ConnectionFlags &
  ChatRequestFlags &
  SessionFlags &
  ToolFlags &
  PrintFlags &
  Omit<StdoutFlags, 'output'> & {
    output?: string;
    force?: true;
    requireComplete?: true;
  };
