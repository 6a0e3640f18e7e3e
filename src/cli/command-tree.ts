import type { Command } from 'commander';
import type { Configure } from './context.ts';

/** Opens the program for some words, to be examined and not run. */
type OpenProgram = (words: readonly string[]) => Promise<Command>;

interface Entry {
  summary: string;
  /** Runs if the words after the group name no command; its flags are always known. */
  isDefault?: true;
  /** Of a default: a word after the group can only be meant as a command. */
  takesNoWords?: true;
  /** Not in help. */
  hidden?: true;
  /** Called only for the requested command: the flags and imports of the others are not loaded. */
  load?: (openProgram: OpenProgram) => Promise<Configure>;
  commands?: Tree;
}

export type Tree = Readonly<Record<string, Entry>>;

export const tree: Tree = {
  text: { summary: 'text in, text out', load: async () => (await import('../commands/text/text.ts')).textCommand },
  image: {
    summary: 'make and edit images',
    commands: {
      gen: {
        summary: 'prompt in, image files out',
        load: async () => (await import('../commands/image/image.ts')).imageGenCommand,
      },
      edit: {
        summary: 'images and an instruction in, image files out',
        load: async () => (await import('../commands/image/image.ts')).imageEditCommand,
      },
    },
  },
  chat: {
    summary: 'messages in, the answer streamed as it comes',
    load: async () => (await import('../commands/chat/chat.ts')).chatCommand,
  },
  models: {
    summary: 'list what the service offers',
    load: async () => (await import('../commands/models/models.ts')).modelsCommand,
  },
  sessions: {
    summary: 'the conversations that chat kept',
    commands: {
      list: {
        summary: 'name, last change, messages and first prompt of each',
        load: async () => (await import('../commands/sessions/sessions.ts')).sessionsListCommand,
      },
      show: {
        summary: 'print a conversation to read',
        load: async () => (await import('../commands/sessions/sessions.ts')).sessionsShowCommand,
      },
      export: {
        summary: 'print a conversation as Markdown',
        load: async () => (await import('../commands/sessions/sessions.ts')).sessionsExportCommand,
      },
      rm: {
        summary: 'remove conversations',
        load: async () => (await import('../commands/sessions/sessions.ts')).sessionsRemoveCommand,
      },
    },
  },
  recordings: {
    summary: 'what --record kept in a folder',
    commands: {
      list: {
        summary: 'time, status, size, request and model of each',
        load: async () => (await import('../commands/recordings/recordings.ts')).recordingsListCommand,
      },
      show: {
        summary: 'print a request and its reply',
        load: async () => (await import('../commands/recordings/recordings.ts')).recordingsShowCommand,
      },
      prune: {
        summary: 'remove old recordings, or failed ones',
        load: async () => (await import('../commands/recordings/recordings.ts')).recordingsPruneCommand,
      },
    },
  },
  recover: {
    summary: 'write out a paid reply that could not be written before',
    load: async () => (await import('../commands/recover.ts')).recoverCommand,
  },
  serve: {
    summary: 'the local gateway: all formats on loopback, offline',
    load: async () => (await import('../commands/serve/serve.ts')).serveCommand,
  },
  mcp: {
    summary: 'tools for agents: the Model Context Protocol on stdin and stdout',
    load: async () => (await import('../commands/mcp/mcp.ts')).mcpCommand,
  },
  config: {
    summary: 'read and write settings',
    commands: {
      init: {
        summary: 'ask for a profile and write it',
        load: async () => (await import('../commands/config/init.ts')).configInitCommand,
      },
      path: {
        summary: 'print where the config file is',
        load: async () => (await import('../commands/config/config.ts')).configPathCommand,
      },
      list: {
        summary: 'print every setting with its origin, keys redacted',
        load: async () => (await import('../commands/config/config.ts')).configListCommand,
      },
      get: {
        summary: 'print one setting',
        load: async () => (await import('../commands/config/config.ts')).configGetCommand,
      },
      set: {
        summary: 'write one setting; - reads it from stdin or asks',
        load: async () => (await import('../commands/config/config.ts')).configSetCommand,
      },
      unset: {
        summary: 'remove one setting',
        load: async () => (await import('../commands/config/config.ts')).configUnsetCommand,
      },
      use: {
        summary: 'choose the profile in use',
        load: async () => (await import('../commands/config/config.ts')).configUseCommand,
      },
    },
  },
  batch: {
    summary: 'many requests from a file: parallel, resumable, each paid for once',
    commands: {
      run: {
        summary: 'run the jobs of a file (the default)',
        isDefault: true,
        load: async () => (await import('../batch/batch.ts')).batchRunCommand,
      },
      status: {
        summary: 'show the state of a batch',
        load: async () => (await import('../batch/report/status.ts')).batchStatusCommand,
      },
      cancel: {
        summary: 'end the jobs that go on at the service',
        load: async () => (await import('../batch/lane/cancel.ts')).batchCancelCommand,
      },
      merge: {
        summary: 'join the folders of all shards',
        load: async () => (await import('../batch/report/merge.ts')).batchMergeCommand,
      },
      export: {
        summary: 'write a table of all jobs, or a report for CI',
        load: async () => (await import('../batch/report/export.ts')).batchExportCommand,
      },
      gallery: {
        summary: 'write a page with all pictures and texts',
        load: async () => (await import('../batch/report/gallery.ts')).batchGalleryCommand,
      },
    },
  },
  costs: {
    summary: 'budgets that runs share: what is left, and what was spent on what',
    commands: {
      show: {
        summary: 'each budget, and what is left of it (the default)',
        isDefault: true,
        takesNoWords: true,
        load: async () => (await import('../commands/costs/costs.ts')).costsShowCommand,
      },
      report: {
        summary: 'what the requests of budgets cost, by day, model, tag, service or lane',
        load: async () => (await import('../commands/costs/costs.ts')).costsReportCommand,
      },
    },
  },
  doctor: {
    summary: 'check the set-up and say how to mend it',
    load: async () => (await import('../commands/doctor/doctor.ts')).doctorCommand,
  },
  completion: {
    summary: 'print a completion script for a shell',
    load: async () => (await import('../commands/completion/completion.ts')).completionCommand,
  },
  help: {
    summary: 'help on a command or a topic',
    hidden: true,
    load: async (openProgram) => {
      const { helpCommand } = await import('../commands/help.ts');
      return (command) => helpCommand(command, openProgram);
    },
  },
  __complete: {
    summary: 'what can stand at the cursor',
    hidden: true,
    load: async (openProgram) => {
      const { completeCommand } = await import('../commands/completion/completion.ts');
      return (command) => completeCommand(command, openProgram);
    },
  },
  __preview: {
    summary: 'small copies of images',
    hidden: true,
    load: async () => (await import('../commands/mcp/mcp.ts')).previewCommand,
  },
};
