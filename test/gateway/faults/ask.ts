import { completion, message, responseTo, turn, type Answered, type GatewayUnderTest } from '../gateway-under-test.ts';

const small = { generationConfig: { imageConfig: { imageSize: '512' } } };

/** The ways to ask a fault model: for a picture, and in each format, for streams too. */
export interface FaultAsker {
  draw(model: string, more?: object): Promise<Answered>;
  write(model: string): Promise<Answered>;
  chat(model: string): Promise<Answered>;
  stream(model: string): Promise<Answered>;
  complete(model: string, more?: object): Promise<Answered>;
  completeStream(model: string): Promise<Answered>;
  respond(model: string): Promise<Answered>;
  respondStream(model: string): Promise<Answered>;
}

export function askFaults(gateway: GatewayUnderTest): FaultAsker {
  const path = (model: string): string => `/v1beta/models/${model}:generateContent`;
  const asText = { 'x-vendor-a-api-key': 'local-test-key', authorization: '' };
  return {
    draw: (model, more = small) => gateway.post(path(model), turn(`a boat for ${model}`, more)),
    write: (model) => gateway.post(path(model), turn('hi'), asText),
    chat: (model) => gateway.post('/v1/messages', message('hi', { model })),
    complete: (model, more) => gateway.post('/v1/chat/completions', completion('hi', { model, ...more })),
    completeStream: (model) => gateway.post('/v1/chat/completions', completion('hi', { model, stream: true })),
    respond: (model) => gateway.post('/v1/responses', responseTo('hi', { model })),
    respondStream: (model) => gateway.post('/v1/responses', responseTo('hi', { model, stream: true })),
    stream: (model) => gateway.post('/v1/messages', message('hi', { model, stream: true })),
  };
}
