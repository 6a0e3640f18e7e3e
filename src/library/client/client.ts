import { prepareForCaller, readCall, streamCall, type ClientCall } from './call.ts';
import { checkCallOptions, checkClientOptions } from './check-options.ts';
import type { AskRequest, CallOptions, Client, ClientOptions } from './client-types.ts';
import { chooseDeadline } from './deadline.ts';
import { openGatewayClient } from './gateway-client.ts';
import { openMessageStream } from './message-stream.ts';

/**
 * A client of one gateway. Nothing is connected or read yet, and nothing is shared with other clients.
 * Throws GatewayError usage for an invalid base URL.
 */
export function createClient(typed: ClientOptions): Client {
  const options = checkClientOptions(typed);
  const sender = openGatewayClient(options);
  const { endpoint, ask, send, address, listModels, countTokens, contextWindow, close } = sender;
  const toCall = (request: AskRequest, call?: CallOptions, chosen: Partial<ClientCall> = {}): ClientCall => {
    return { ask, options, endpoint, request, call: checkCallOptions(call), use: 'text', stream: false, ...chosen };
  };
  return {
    generate: async (request, call) => readCall(toCall(request, call)),
    stream: (request, call) =>
      openMessageStream(
        async (listener) => streamCall(toCall(request, call, { stream: true, listener })),
        call?.signal,
      ),
    generateImages: (async (request: AskRequest, call?: CallOptions & { folder?: string }) => {
      const use = (request as AskRequest | undefined)?.media?.length ? 'edit' : 'image';
      return readCall(toCall(request, call, { use, stream: undefined }), call?.folder);
    }) as Client['generateImages'],
    async prepare(request, preparing) {
      const { use = 'text', stream = false, ...call } = checkCallOptions(preparing);
      return prepareForCaller(toCall(request, call, { use, stream }), chooseDeadline(call, options));
    },
    ask,
    send,
    address,
    listModels,
    countTokens,
    contextWindow,
    close,
  };
}
