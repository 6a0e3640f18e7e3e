import type { Command } from 'commander';
import {
  findOwn,
  firstServiceNames,
  GatewayError,
  isObject,
  listUses,
  type Service,
  type ServiceName,
  serviceNames,
  services,
  shellWord,
  usageError,
  type Use,
  useNames,
} from '../../../library/index.ts';
import type { Dialog } from '../../terminal/dialog.ts';
import { checkKey } from '../../settings/key.ts';
import { nameFor, getProfileService, withNameFor } from '../../settings/profile.ts';
import { requireProfileName } from '../../settings/profile-name.ts';
import { fromEnvironment } from '../../settings/sources.ts';
import { keysIn } from '../../settings/vendor-variables.ts';
import type { Config, LoadedConfig, Profile } from '../../settings/types.ts';
import { changeConfig, configDocument, describeMap, openConfig, warnOfAddress } from './file.ts';
import { withValue } from './keys.ts';
import type { Action, Context } from '../../context.ts';
import { setExamples, setNotes } from '../../flags/flag.ts';

/** `config init`: asks for a service and its settings, and puts the profile in use. Needs a terminal; scripts have `config set`. */
export function configInitCommand(command: Command): Action {
  command.usage('[flags]');
  setExamples(command, ['gateway-cli config init', 'gateway-cli config init --profile work']);
  const listed = firstServiceNames.map((name) => `${name} (${services[name].title})`).join(', ');
  setNotes(command, [`Services: ${listed}; others: gateway-cli help services`]);
  return async (context) => {
    const { io, ui, root } = context;
    if (!io.openDialog) throw noTerminal(context);
    const opened = await openConfig(context);
    const { loaded } = opened;
    const names = typeof opened.profile === 'string' ? [opened.profile] : Object.values(opened.profile);
    for (const name of names) requireProfileName(name);
    const dialog = await io.openDialog();
    context.atEnd(async () => dialog.close());
    await ui.note(`settings go to ${loaded.path}; press Enter to take the value in [ ]`);
    const service = await askService(findOwn(loaded.config.profiles, names[0] ?? ''), { dialog, context });
    const isNamed = root.profile !== undefined || fromEnvironment(io.env, 'GATEWAY_PROFILE') !== undefined;
    const profile = profileFor(service.name, { loaded, names, isNamed });
    const answers = await askValues(service, { dialog, loaded, profile, context });
    const config = (await changeConfig(opened.loaded.path, (current) => {
      const answered = withAnswers(current, profile, answers).config;
      return { ...answered, profile: withNameFor(answered.profile, profile, usesToTake(service, current.config)) };
    })) as Config;
    const inUse = config.profile ?? profile;
    await warnOfAddress(config, profile, context);
    await ui.note(`written: profile ${profile} in ${loaded.path}`);
    if (typeof inUse === 'object') await ui.note(`in use: ${describeMap(inUse)}`);
    const flag = inUse === profile ? '' : ` --profile ${profile}`;
    const model = config.profiles[profile]?.models?.text ?? service.models.text;
    if (model === undefined && !service.isKeyless)
      await ui.note(
        `no model is set; set one of gateway-cli models: gateway-cli config set models.text <model>${flag}`,
      );
    await ui.note("check it: gateway-cli doctor --live; then try it: gateway-cli text 'Hello'");
    return { document: configDocument({ ...opened, profile: inUse }, { exists: true }) };
  };
}

interface InitState {
  dialog: Dialog;
  loaded: LoadedConfig;
  profile: string;
  context: Context;
}

/** Asks for the service. Enter chooses the service of the profile, or of the key in a variable. */
async function askService(
  profile: Profile | undefined,
  { dialog, context }: Pick<InitState, 'dialog' | 'context'>,
): Promise<Service> {
  const [withKey] = keysIn(context.io.env);
  const usual = profile === undefined ? (withKey?.name ?? 'gateway') : getProfileService(profile);
  for (const name of firstServiceNames) await context.ui.note(`  ${name.padEnd(10)} ${services[name].title}`);
  const others = serviceNames.filter((name) => !firstServiceNames.includes(name));
  await context.ui.note(`  or ${others.join(', ')}`);
  for (;;) {
    const answer = (await dialog.ask(`Service [${usual}]: `)).trim();
    const name = answer === '' ? usual : serviceNames.find((one) => one === answer.toLowerCase());
    if (name !== undefined) return services[name];
    await context.ui.note(`type one of ${firstServiceNames.join(', ')}, or of the others`);
  }
}

/**
 * The profile for the answers: the one that was named, the one in use if it is for the same service, otherwise one with the name
 * of the service. Throws usage if the named profile is for another service: its answers would be lost.
 */
function profileFor(
  service: ServiceName,
  { loaded, names, isNamed }: { loaded: LoadedConfig; names: readonly string[]; isNamed: boolean },
): string {
  const [first = 'default'] = names;
  const toServiceName = (name: string): ServiceName | undefined => {
    const profile = findOwn(loaded.config.profiles, name);
    return profile && getProfileService(profile);
  };
  const fitting = names.find((name) => toServiceName(name) === service);
  if (fitting !== undefined) return fitting;
  const other = toServiceName(first);
  if (!isNamed) return other === undefined && service === 'gateway' ? 'default' : service;
  if (other === undefined) return first;
  throw usageError(
    `profile ${first} is for service ${other}, and stays unchanged`,
    `give another name: gateway-cli config init --profile ${service}`,
  );
}

/** The uses of the service, and the uses that no profile in use has. */
function usesToTake({ name }: Service, { profile, profiles }: Config): Use[] {
  const uses = listUses(name);
  return useNames.filter((use) => {
    const before = findOwn(profiles, nameFor(profile, use) ?? 'default');
    return uses.includes(use) || before === undefined || !listUses(getProfileService(before)).includes(use);
  });
}

interface KeyQuestion {
  key: string;
  text: string;
  required?: boolean;
  hidden?: boolean;
}

/** A key of the profile with its value. */
interface KeyAnswer {
  key: string;
  word: string;
}

function listQuestions(service: Service, context: Context): KeyQuestion[] {
  const { keyPage, baseUrl, template, models, isKeyless } = service;
  const where = keyPage === undefined ? '' : `, which you make at ${keyPage}`;
  const variable = keysIn(context.io.env).find(({ name }) => name === service.name)?.variable;
  const empty = variable === undefined ? 'none in the file' : `${variable} is used`;
  return [
    ...(baseUrl === undefined
      ? [{ key: 'baseUrl', text: `Base URL (${template?.url ?? 'https://…'})`, required: true }]
      : []),
    ...(isKeyless ? [] : [{ key: 'apiKey', text: `API key${where} (not shown; empty: ${empty})`, hidden: true }]),
    { key: 'models.text', text: models.text === undefined ? 'Model' : `Model (empty: ${models.text})` },
  ];
}

async function askValues(service: Service, state: InitState): Promise<KeyAnswer[]> {
  const answers: KeyAnswer[] = service.name === 'gateway' ? [] : [{ key: 'service', word: service.name }];
  for (const question of listQuestions(service, state.context)) {
    const loaded = withAnswers(state.loaded, state.profile, answers);
    const answer = await askUntilRight(question, { ...state, loaded });
    if (answer !== undefined) answers.push(answer);
  }
  return answers;
}

/** The answer of a person; undefined if the setting stays as it is. */
async function askUntilRight(question: KeyQuestion, state: InitState): Promise<KeyAnswer | undefined> {
  const { dialog, loaded, profile, context } = state;
  const { key, text, hidden = false, required = false } = question;
  const before = currentValue(loaded, profile, key);
  const shown = before === undefined ? '' : ` [${hidden ? 'set' : before}]`;
  for (;;) {
    const word = (await dialog.ask(`${text}${shown}: `, { hidden })).trim();
    if (word === '' && (before !== undefined || !required)) return undefined;
    try {
      if (word === '') throw usageError(`${key} is needed; Ctrl-C leaves everything as it was`);
      if (hidden) checkKey(word, 'as you typed it');
      withAnswers(loaded, profile, [{ key, word }]);
      if (hidden) await context.ui.note(`key received, ${word.length} characters`);
      return { key, word };
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      await context.ui.note(error.message);
    }
  }
}

function currentValue({ config }: LoadedConfig, profile: string, key: string): string | undefined {
  const value = key
    .split('.')
    .reduce<unknown>((at, step) => (isObject(at) ? findOwn(at, step) : undefined), findOwn(config.profiles, profile));
  return typeof value === 'string' ? value : undefined;
}

/** The config with the answers. Throws GatewayError usage for a value that its key does not take. */
function withAnswers(loaded: LoadedConfig, profile: string, answers: readonly KeyAnswer[]): LoadedConfig {
  let { config } = loaded;
  for (const answer of answers) config = withValue({ ...loaded, config }, profile, answer);
  return { ...loaded, config };
}

function noTerminal({ root }: Context): Error {
  const profile = root.profile === undefined ? '' : ` --profile ${shellWord(root.profile)}`;
  const lines = [
    'without one, type:',
    `gateway-cli config set baseUrl https://gateway.example.com${profile}`,
    `or for a service: gateway-cli config set service gemini${profile}`,
    `gateway-cli config set models.text some-model${profile}`,
    `printf %s "$KEY" | gateway-cli config set apiKey -${profile}`,
  ];
  return usageError('config init asks questions, and there is no terminal', lines.join('\n'));
}
