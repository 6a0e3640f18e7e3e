import type { Configure } from './context.ts';

interface CommandEntry {
  summary: string;
  /** The heading in the program's help that begins with this command; the commands after it are below it, too. */
  heading?: string;
  /** Only groups have examples. */
  examples?: readonly string[];
  /** Runs if the words after the group name no command; its flags are always known. */
  isDefault?: true;
  /** The command is left out of help. */
  hidden?: true;
  load?: () => Promise<Configure>;
  commands?: Tree;
}

export type Tree = Readonly<Record<string, CommandEntry>>;

/** A command of a module, which is loaded only for the requested command: the flags and imports of the others are not. */
const leaf = <Name extends string>(
  summary: string,
  module: () => Promise<Record<NoInfer<Name>, Configure>>,
  name: Name,
  more: Pick<CommandEntry, 'heading' | 'isDefault' | 'hidden'> = {},
): CommandEntry => ({ summary, load: async () => (await module())[name], ...more });

const recover = () => import('./commands/recover.ts');
const serve = () => import('./commands/serve/serve.ts');
const doctor = () => import('./commands/doctor/doctor.ts');
const completion = () => import('./commands/completion/completion.ts');
const complete = () => import('./commands/completion/complete.ts');
const batchAgain = () => import('./commands/batch/again.ts');
const batchChoose = () => import('./commands/batch/choose.ts');
const batchExport = () => import('./commands/batch/export.ts');
const batchCancel = () => import('./commands/batch/cancel.ts');
const image = () => import('./commands/image/image.ts');
const sessions = () => import('./commands/sessions/sessions.ts');
const prompts = () => import('./commands/prompts/prompts.ts');
const mcp = () => import('./commands/mcp/mcp.ts');
const config = () => import('./commands/config/config.ts');
const costs = () => import('./commands/costs/costs.ts');

export const tree: Tree = {
  text: leaf('text in, text out', () => import('./commands/text/text.ts'), 'textCommand', {
    heading: 'Ask a model',
  }),
  image: {
    summary: 'make and edit images',
    examples: [
      'gateway-cli image gen "a lighthouse at dusk" --aspect 3:2 -o dusk.png',
      'gateway-cli image edit -i photo.jpg "remove the sign" -o clean.jpg',
    ],
    commands: {
      gen: leaf('prompt in, image files out', image, 'imageGenCommand'),
      edit: leaf('images and an instruction in, image files out', image, 'imageEditCommand'),
    },
  },
  chat: leaf('messages in, the answer streamed as it comes', () => import('./commands/chat/chat.ts'), 'chatCommand'),
  batch: {
    summary: 'many requests from a file: parallel, resumable, each paid for once',
    commands: {
      run: leaf('run the jobs of a file (the default)', () => import('./commands/batch/batch.ts'), 'batchRunCommand', {
        isDefault: true,
      }),
      again: leaf('go on with a folder, with the flags that made it', batchAgain, 'batchAgainCommand'),
      retry: leaf('send again what failed, may have been billed, or was cut', batchAgain, 'batchRetryCommand'),
      redo: leaf('make rows again', batchAgain, 'batchRedoCommand'),
      choose: leaf('have an earlier answer of a row count again', batchChoose, 'batchChooseCommand'),
      status: leaf('show the state of a batch', () => import('./commands/batch/status.ts'), 'batchStatusCommand'),
      cancel: leaf('end the jobs that go on at the service', batchCancel, 'batchCancelCommand'),
      export: leaf('write a table of all jobs, or a report for CI', batchExport, 'batchExportCommand'),
      gallery: leaf(
        'write a page with all pictures and texts',
        () => import('./commands/batch/gallery.ts'),
        'batchGalleryCommand',
      ),
    },
  },
  sessions: {
    summary: 'the conversations that chat kept',
    heading: 'What was kept',
    examples: ['gateway-cli sessions list', 'gateway-cli sessions show trip'],
    commands: {
      list: leaf('name, last change, messages and first prompt of each', sessions, 'sessionsListCommand'),
      show: leaf('print a conversation to read', sessions, 'sessionsShowCommand'),
      export: leaf('print a conversation as Markdown', sessions, 'sessionsExportCommand'),
      rm: leaf('remove conversations', sessions, 'sessionsRemoveCommand'),
    },
  },
  recover: leaf('write out a paid reply that could not be written before', recover, 'recoverCommand'),
  costs: {
    summary: 'shared budgets: what is left, and where it went',
    commands: {
      show: leaf('each budget, and what is left of it (the default)', costs, 'costsShowCommand', {
        isDefault: true,
      }),
      report: leaf(
        'what the requests of budgets cost, by day, model, tag, service or lane',
        costs,
        'costsReportCommand',
      ),
    },
  },
  config: {
    summary: 'read and write settings',
    heading: 'Set up',
    examples: [
      'gateway-cli config init',
      'gateway-cli config set models.text some-model',
      'pass show gateway | gateway-cli config set apiKey -',
    ],
    commands: {
      init: leaf('ask for a profile and write it', () => import('./commands/config/init.ts'), 'configInitCommand'),
      path: leaf('print where the config file is', config, 'configPathCommand'),
      list: leaf('print every setting with its origin, keys redacted', config, 'configListCommand'),
      get: leaf('print one setting', config, 'configGetCommand'),
      set: leaf('write one setting; - reads it from stdin or asks', config, 'configSetCommand'),
      unset: leaf('remove one setting', config, 'configUnsetCommand'),
      use: leaf('choose the profile in use', config, 'configUseCommand'),
    },
  },
  prompts: {
    summary: 'prompts by name, for -t',
    commands: {
      list: leaf('name and file of each', prompts, 'promptsListCommand'),
      show: leaf('print a prompt', prompts, 'promptsShowCommand'),
    },
  },
  doctor: leaf('check the setup and say how to fix it', doctor, 'doctorCommand'),
  models: leaf('list what the service offers', () => import('./commands/models/models.ts'), 'modelsCommand'),
  completion: leaf('print a completion script for a shell', completion, 'completionCommand'),
  serve: leaf('the local gateway: all formats on loopback, offline', serve, 'serveCommand', {
    heading: 'For other programs',
  }),
  mcp: leaf('tools for agents: the Model Context Protocol on stdin and stdout', mcp, 'mcpCommand'),
  help: leaf('help on a command or a topic', () => import('./commands/help.ts'), 'helpCommand', { hidden: true }),
  __complete: leaf('values for the word at the cursor', complete, 'completeCommand', { hidden: true }),
};
