// undici has no exports map: importing its parts costs 13 ms where the whole costs 50 (design.md section 7).

declare module 'undici/lib/dispatcher/client.js' {
  import type { Client, Dispatcher } from 'undici';

  type Options = Omit<Dispatcher.DispatchOptions, 'body'> & {
    body: Uint8Array | AsyncIterable<Uint8Array> | null;
  };

  class ClientPart {
    constructor(origin: string, options: Client.Options);
    dispatch(options: Options, handler: Dispatcher.DispatchHandler): boolean;
    destroy(): Promise<void>;
  }
  export = ClientPart;
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

declare module 'undici/lib/core/symbols.js' {
  import type { Socket } from 'node:net';

  namespace symbols {
    /** The reader of one connection's replies. */
    interface Parser {
      readonly ptr: number;
      readonly llhttp: { llhttp_resume(ptr: number): void };
      paused: boolean;
      resume(): void;
    }
    const kParser: unique symbol;

    /** A socket that undici reads. */
    interface Read extends Socket {
      [kParser]?: Parser | null;
    }
  }
  export = symbols;
}
