// A mock server that people take in place of `gateway-cli serve`, with one answer as long as that of the offline models, in as many
// deltas: 11, where its usual pieces of 20 characters would be 9.
import { LLMock } from '@copilotkit/aimock';

const mock = new LLMock({ port: 0, chunkSize: 16 });
mock.onMessage(/.*/, {
  content:
    'This is the offline model local-text; no gateway was asked. You wrote “three names for a lighthouse cat”. The same request gets the same answer here, so a test can rely on it.',
});
await mock.start();
console.log(mock.url);
