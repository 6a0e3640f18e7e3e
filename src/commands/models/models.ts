import type { Command } from 'commander';
import { addFlags } from '../../cli/flags/flag.ts';
import { connectionFlags } from '../../cli/flags/shared.ts';
import { setExamples, setNotes } from '../../cli/help/help.ts';
import type { Action, Context } from '../../cli/context.ts';
import type { ConnectionFlags } from '../../cli/run/settings.ts';
import { keepModels } from '../../settings/kept-models.ts';
import { asColumn } from '../../terminal/column-width.ts';
import { escapeLine } from '../../terminal/escape.ts';
import { askLists, type FoundList, type Offered } from './lists.ts';

const unused = new Set(['model', 'record', 'replay']);

/** Of the connection's flags those that lead to a list: nothing of it is recorded. */
const listFlags = Object.fromEntries(Object.entries(connectionFlags).filter(([name]) => !unused.has(name)));

/** `models [filter]`: what the service offers, by its own lists. */
export function modelsCommand(command: Command): Action {
  command.argument('[filter]', 'a part of the name').usage('[filter] [flags]');
  setExamples(command, [
    'gateway-cli models',
    'gateway-cli models flash --service gemini',
    'gateway-cli text -m "$(gateway-cli models | fzf)" hi',
    'gateway-cli models --json | jq -r .models[].id',
  ]);
  setNotes(command, [
    'A terminal gets a table, a pipe one name a line.',
    'The names are kept for a day: -m completes from them, and an unknown model is answered with the nearest.',
  ]);
  addFlags(command, 'Connection', listFlags);
  return (context, [filter = ''], flags) => runModels(filter, flags as ConnectionFlags, context);
}

async function runModels(filter: string, flags: ConnectionFlags, context: Context): Promise<void> {
  const { root, report, ui } = context;
  const progress = ui.progress('waiting for the list of models');
  const { lists, complete } = await askLists(flags, context).finally(() => progress.stop());
  await keep(lists, context);
  const all = merge(lists);
  const models = all.filter(({ id, title = '' }) => `${id}\n${title}`.toLowerCase().includes(filter.toLowerCase()));
  if (root.json) report.own = { schema: 'gateway-cli/models@1', ok: true, complete, models };
  else await print(models, context);
  if (models.length === 0)
    await ui.note(all.length === 0 ? 'the list is empty' : `none of ${all.length} models matches`);
}

/** What stands in both lists, once. */
function merge(lists: readonly FoundList[]): Offered[] {
  const byId = new Map<string, Offered>();
  for (const { format, models } of lists) {
    for (const { id, title, operations } of models) {
      const known = byId.get(id);
      if (known === undefined) byId.set(id, { id, title, formats: [format], operations });
      else if (!known.formats.includes(format)) {
        known.formats.push(format);
        known.title ??= title;
        known.operations ??= operations;
      }
    }
  }
  return [...byId.values()];
}

/** Lists of one gateway and profile are kept together. A cache that cannot be written is no failure of the command. */
async function keep(lists: readonly FoundList[], { io, ui }: Context): Promise<void> {
  for (const owner of new Set(lists.map((list) => list.owner))) {
    const own = lists.filter((list) => list.owner === owner).flatMap(({ models }) => models.map(({ id }) => id));
    await keepModels(owner, [...new Set(own)], io.now()).catch((error: Error) =>
      ui.detail(`the names are not kept: ${error.message}`),
    );
  }
}

async function print(models: readonly Offered[], { io }: Context): Promise<void> {
  const { isTTY } = io.stdout;
  const columns = [
    models.map(({ id }) => escapeLine(id)),
    models.map(({ formats }) => formats.join(', ')),
    models.map(({ title = '' }) => escapeLine(title)),
    models.map(({ operations = [] }) => escapeLine(operations.join(', '))),
  ].map(asColumn);
  const lines = models.map(({ id }, row) =>
    isTTY
      ? columns
          .map((column) => column[row])
          .join('  ')
          .trimEnd()
      : escapeLine(id),
  );
  await io.stdout.write(lines.map((line) => `${line}\n`).join(''));
}
