import type { Command } from 'commander';
import type { Action } from '../../cli/context.ts';
import { addFlags } from '../../cli/flags/flag.ts';
import { contentFlags, imageFlags } from '../../cli/flags/format.ts';
import { bodyFlags, connectionFlags, outputFlags, priceFlags } from '../../cli/flags/shared.ts';
import { setExamples } from '../../cli/help/help.ts';
import { type ImageFlags, runImage } from './image.ts';

/** `image gen [prompt…]`: content format, prompt in, image files out. */
export function imageGenCommand(command: Command): Action {
  command.argument('[prompt...]', 'the prompt, joined by spaces').usage('[prompt…] [flags]');
  setExamples(command, [
    'gateway-cli image gen "a lighthouse at dusk" --aspect 16:9 -o dusk.png',
    'gateway-cli image gen -n 4 "tile pattern" -o tiles/',
    "gateway-cli image gen --prompt-file prompt.txt -o 'out/{slug}-{n}.{ext}' --sidecar",
    'gateway-cli image gen "a cat" -o - | gateway-cli image edit -i - "make it gray" -o cat.png',
  ]);
  addFlags(command, 'Flags', { ...imageFlags, ...contentFlags });
  addFlags(command, 'Request', bodyFlags);
  addFlags(command, 'Connection', connectionFlags);
  addFlags(command, 'Costs', priceFlags);
  addFlags(command, 'Output', outputFlags);
  return (context, words, flags) =>
    runImage(words, flags as ImageFlags, { context, use: 'image', command: 'image gen' });
}
