import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { topicTexts } from '../../../helpers/readme.ts';
import { lacks } from '../../../helpers/screen.ts';
import { scratchFolder } from '../../../helpers/scratch.ts';
import { shell } from '../../../helpers/spawn.ts';

// Rows as the list of LiteLLM has them (BerriAI/litellm @00035b69).
const list = {
  sample_spec: { input_cost_per_token: 0, litellm_provider: 'one of https://docs.litellm.ai/docs/providers' },
  'gpt-image-1': {
    cache_read_input_token_cost: 1.25e-6,
    input_cost_per_image_token: 1e-5,
    input_cost_per_token: 5e-6,
    litellm_provider: 'openai',
    mode: 'image_generation',
    output_cost_per_image_token: 4e-5,
    supported_endpoints: ['/v1/images/generations', '/v1/images/edits'],
  },
  'openai/gpt-5-nano': {
    cache_read_input_token_cost: 5e-9,
    cache_read_input_token_cost_flex: 2.5e-9,
    input_cost_per_token: 5e-8,
    input_cost_per_token_priority: 2.5e-6,
    litellm_provider: 'openai',
    output_cost_per_token: 4e-7,
  },
  'gpt-realtime': {
    input_cost_per_audio_token: 3.2e-5,
    input_cost_per_image: 5e-6,
    input_cost_per_token: 4e-6,
    litellm_provider: 'openai',
    output_cost_per_audio_token: 6.4e-5,
    output_cost_per_token: 1.6e-5,
  },
  '1024-x-1024/dall-e-2': { input_cost_per_pixel: 1.9e-8, litellm_provider: 'openai', output_cost_per_pixel: 0 },
  'groq/qwen/qwen3-32b': { input_cost_per_token: 2.9e-7, litellm_provider: 'groq', output_cost_per_token: 5.9e-7 },
};

test.skipIf(lacks('jq'))(
  "the line of the topic costs makes prices of ours of LiteLLM's list, and they are set",
  async () => {
    const cwd = scratchFolder();
    writeFileSync(join(cwd, 'model_prices_and_context_window.json'), JSON.stringify(list));
    const [, line = ''] = /```sh\n(jq '"openai"[^]+?)```/.exec(topicTexts.get('costs') ?? '') ?? [];
    const script = line.replace('gateway-cli', '$BIN');
    const env = { GATEWAY_CONFIG: join(cwd, 'config.json') };
    expect(await shell(script, { cwd, env })).toMatchObject({ code: 0, stdout: '' });
    const { profiles } = JSON.parse(readFileSync(join(cwd, 'config.json'), 'utf8')) as {
      profiles: { default: { prices: unknown } };
    };
    expect(profiles.default.prices).toEqual({
      'gpt-image-1': { input: 5, cached: 1.25, imageInput: 10, imageOutput: 40 },
      'gpt-5-nano': { input: 0.05, cached: 0.005, output: 0.4 },
      'gpt-realtime': { input: 4, output: 16, audioInput: 32, audioOutput: 64 },
    });
  },
);
