import type { CommandFacts, FlagFacts } from './types.ts';

/** Many commands share most of their flags: each is in the file once, and commands have their numbers. */
interface PackedFacts {
  flags: readonly FlagFacts[];
  program: PackedCommand;
}

type PackedCommand = Omit<CommandFacts, 'flags' | 'commands'> & { flags: number[]; commands: PackedCommand[] };

/** The facts of all commands as the text of a file. */
export function packFacts(program: CommandFacts): string {
  const numbers = new Map<string, number>();
  const number = (flag: FlagFacts): number => {
    const text = JSON.stringify(flag);
    return numbers.get(text) ?? (numbers.set(text, numbers.size), numbers.size - 1);
  };
  const pack = (command: CommandFacts): PackedCommand => ({
    ...command,
    flags: command.flags.map(number),
    commands: command.commands.map(pack),
  });
  const packed = pack(program);
  return `{"flags":[${[...numbers.keys()].join(',')}],"program":${JSON.stringify(packed)}}\n`;
}

export function unpackFacts(text: string): CommandFacts {
  const { flags, program } = JSON.parse(text) as PackedFacts;
  const unpack = (command: PackedCommand): CommandFacts => ({
    ...command,
    flags: command.flags.flatMap((number) => flags[number] ?? []),
    commands: command.commands.map(unpack),
  });
  return unpack(program);
}
