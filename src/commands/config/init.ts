import type { Command } from 'commander';
import { GatewayError, usageError } from '../../errors.ts';
import type { Dialog } from '../../terminal/dialog.ts';
import { requireProfileName } from '../../settings/profile.ts';
import type { Config, LoadedConfig } from '../../settings/types.ts';
import { configDocument, openConfig, saveConfig, warnOfAddress } from './file.ts';
import { withValue } from './keys.ts';
import type { Action, Context } from '../../cli/context.ts';
import { setExamples } from '../../cli/help/help.ts';
import { shellWord } from '../../shell-word.ts';

interface Question {
  key: string;
  text: string;
  required?: true;
  hidden?: true;
}

const questions: readonly Question[] = [
  { key: 'baseUrl', text: 'Base URL of the gateway (https://…)', required: true },
  { key: 'apiKey', text: 'API key (not shown; empty: none in the file)', hidden: true },
  { key: 'models.text', text: 'Model of text' },
  { key: 'models.chat', text: 'Model of chat' },
  { key: 'models.image', text: 'Model of image gen' },
  { key: 'models.edit', text: 'Model of image edit' },
];

/** `config init`: asks for a profile and puts it in use. Needs a terminal; scripts have `config set`. */
export function configInitCommand(command: Command): Action {
  command.usage('[flags]');
  setExamples(command, ['gateway-cli config init', 'gateway-cli config init --profile work']);
  return async (context) => {
    const { io, ui } = context;
    if (!io.openDialog) throw noTerminal(context);
    const opened = await openConfig(context);
    requireProfileName(opened.profile);
    const dialog = await io.openDialog();
    context.atEnd(async () => dialog.close());
    await ui.note(`profile ${opened.profile} in ${opened.loaded.path}; an empty answer keeps what stands in [ ]`);
    let { config } = opened.loaded;
    for (const question of questions) {
      const loaded = { ...opened.loaded, config };
      config = await askUntilRight(question, { dialog, loaded, profile: opened.profile, context });
    }
    await saveConfig(opened, { ...config, profile: opened.profile });
    context.report.own = configDocument(opened, { exists: true });
    await warnOfAddress(config, opened.profile, context);
    await ui.note(`written: ${opened.loaded.path}`);
    await ui.note('check it: gateway-cli doctor');
  };
}

interface Asking {
  dialog: Dialog;
  loaded: LoadedConfig;
  profile: string;
  context: Context;
}

async function askUntilRight(question: Question, asking: Asking): Promise<Config> {
  const { dialog, loaded, profile, context } = asking;
  const { key, text, hidden = false, required = false } = question;
  const before = currentValue(loaded, profile, key);
  const shown = before === undefined ? '' : ` [${hidden ? 'set' : before}]`;
  for (;;) {
    const answer = (await dialog.ask(`${text}${shown}: `, { hidden })).trim();
    if (answer === '' && (before !== undefined || !required)) return loaded.config;
    try {
      if (answer === '') throw usageError(`${key} is needed`);
      return withValue(loaded, profile, { key, word: answer });
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      await context.ui.note(error.message);
    }
  }
}

function currentValue({ config }: LoadedConfig, profile: string, key: string): string | undefined {
  const [first = '', second] = key.split('.');
  const at: unknown = (config.profiles[profile] as Record<string, unknown> | undefined)?.[first];
  const value = second === undefined ? at : (at as Record<string, unknown> | undefined)?.[second];
  return typeof value === 'string' ? value : undefined;
}

function noTerminal({ root }: Context): Error {
  const profile = root.profile === undefined ? '' : ` --profile ${shellWord(root.profile)}`;
  const lines = [
    'without one, type:',
    `gateway-cli config set baseUrl https://gateway.example.com${profile}`,
    `gateway-cli config set models.text some-model${profile}`,
    `printf %s "$KEY" | gateway-cli config set apiKey -${profile}`,
  ];
  return usageError('config init asks questions, and there is no terminal', lines.join('\n'));
}
