import type { PrintFlags } from '../../cli/output/print.ts';
import type { RequestFlags } from '../../cli/request/build-request.ts';
import type { SessionFlags } from './session.ts';
import type { ToolFlags } from './tools.ts';
import type { ConnectionFlags } from '../../cli/run/settings.ts';
import type { StdoutFlags } from '../../cli/flags/shared.ts';

/** The flags of `chat`, as they were typed. */
export type AllChatFlags = ConnectionFlags &
  RequestFlags &
  SessionFlags &
  ToolFlags &
  PrintFlags &
  Omit<StdoutFlags, 'output'> & {
    output?: string;
    force?: true;
    maxImages?: number;
    requireComplete?: true;
    requireModel?: true;
  };
