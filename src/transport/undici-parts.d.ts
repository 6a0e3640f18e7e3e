// undici has no exports map: importing its parts costs 13 ms where the whole costs 50 (design.md section 7).

declare module 'undici/lib/dispatcher/agent.js' {
  import type { Agent, Dispatcher } from 'undici';

  type Options = Omit<Dispatcher.DispatchOptions, 'body'> & {
    body: Uint8Array | AsyncIterable<Uint8Array>;
  };

  class AgentPart {
    constructor(options: Agent.Options);
    dispatch(options: Options, handler: Dispatcher.DispatchHandler): boolean;
    destroy(): Promise<void>;
  }
  export = AgentPart;
}

declare module 'undici/lib/core/connect.js' {
  import type { Socket } from 'node:net';
  import type { buildConnector } from 'undici';

  type Options = buildConnector.BuildOptions & {
    autoSelectFamilyAttemptTimeout?: number;
  };

  function createConnector(
    options: Options,
  ): (target: buildConnector.Options, callback: buildConnector.Callback) => Socket;
  export = createConnector;
}
