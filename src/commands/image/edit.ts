import type { Command } from 'commander';
import { usageError } from '../../errors.ts';
import type { Action } from '../../cli/context.ts';
import { addFlags } from '../../cli/flags/flag.ts';
import { contentFlags, editFlags, imageFlags } from '../../cli/flags/format.ts';
import { bodyFlags, connectionFlags, outputFlags, priceFlags } from '../../cli/flags/shared.ts';
import { setExamples } from '../../cli/help/help.ts';
import { type ImageFlags, runImage } from './image.ts';

/** `image edit [prompt…] -i <image>`: content format, images and an instruction in, image files out. */
export function imageEditCommand(command: Command): Action {
  command.argument('[prompt...]', 'the instruction, joined by spaces').usage('[prompt…] -i <image> [flags]');
  setExamples(command, [
    'gateway-cli image edit -i photo.jpg "remove the sign" -o clean.jpg',
    'gateway-cli image edit -i room.png -i sofa.png "put the sofa into the room"',
    'gateway-cli image edit -i https://example.org/cat.png "make it gray" -o - > gray.png',
  ]);
  addFlags(command, 'Flags', { ...editFlags, ...imageFlags, ...contentFlags });
  addFlags(command, 'Request', bodyFlags);
  addFlags(command, 'Connection', connectionFlags);
  addFlags(command, 'Costs', priceFlags);
  addFlags(command, 'Output', outputFlags);
  return async (context, words, flags) => {
    const typed = flags as ImageFlags;
    if (!typed.image?.length) {
      const { refuseStrayFiles } = await import('../../cli/input/stray-files.ts');
      await refuseStrayFiles(words, {}, { command: 'image edit', cwd: context.io.cwd });
      throw usageError('there is no image to edit', 'for example: gateway-cli image edit -i photo.jpg "make it gray"');
    }
    await runImage(words, typed, { context, use: 'edit', command: 'image edit' });
  };
}
