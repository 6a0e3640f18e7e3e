import type { PrintFlags } from '../../commands/chat/print.ts';
import type { ChatRequestFlags } from './chat-request.ts';
import type { SessionFlags } from '../../commands/chat/session.ts';
import type { ToolFlags } from '../../commands/chat/tools.ts';
import type { ConnectionFlags } from '../run/settings.ts';
import type { StdoutFlags } from '../output/show-request.ts';

/** The flags of `chat`, as they were typed. */
export type AllChatFlags = ConnectionFlags &
  ChatRequestFlags &
  SessionFlags &
  ToolFlags &
  PrintFlags &
  Omit<StdoutFlags, 'output'> & {
    output?: string;
    force?: true;
    maxImages?: number;
    requireComplete?: true;
  };
