import { join } from 'node:path';
import { expect, test } from 'vitest';
import { shell } from './helpers/spawn.ts';

const script = join(import.meta.dirname, '../.scripts/drift.js');

test.each([
  [
    'openai@7.48.0',
    'openai@7.51.0',
    [
      'openai 7.48.0 → 7.51.0',
      '  new image models: gpt-image-2.6-flare gpt-image-2.6-sunburst',
      '  new usage of responses: input_tokens_details.cache_write_tokens_details',
    ],
  ],
  [
    '@google/genai@2.28.0',
    '@google/genai@3.3.0',
    [
      '@google/genai 2.28.0 → 3.3.0',
      '  new models: gemini-3.5-flash-lite gemini-3.5-transcribe gemini-4-argon gemini-4-carbon gemini-4-hydrogen gemini-omni-1.2-flash',
      '  new efforts: XHIGH',
      '  new finish reasons: ESCALATION MALFORMED_RESPONSE MISSING_THOUGHT_SIGNATURE MODEL_ARMOR PUP_LIMITED_DISABLED',
      '  new parts: audioTranscription.endOffset audioTranscription.startOffset functionResponse.parts.mediaProcessing',
      '  new usage: initialPromptTokenCount',
    ],
  ],
  [
    '@anthropic-ai/sdk@1.8.0',
    '@anthropic-ai/sdk@1.14.0',
    ['@anthropic-ai/sdk 1.8.0 → 1.14.0', '  new ends: claude-opus-4-5 2027-01-22, claude-opus-4-5-20251101 2027-01-22'],
  ],
])('the drift from %s to %s is found, and nothing else', { timeout: 300_000 }, async (before, after, lines) => {
  const ran = await shell(`${process.execPath} ${script} ${before} ${after}`);
  expect(ran).toMatchObject({ code: 0, stdout: `${lines.join('\n')}\n` });
});
