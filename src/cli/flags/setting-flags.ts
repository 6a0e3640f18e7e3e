import { attributeOf, flagOf } from '../../settings/sources.ts';
import { type Row, type SettingName, settingNames, settings } from '../../settings/table.ts';
import type { Attribute } from '../../settings/types.ts';
import { notAFlag, oneOf, passwordless, whole } from './flag.ts';

/** Readers of flags by the kind of their setting. Other kinds are read when the settings are resolved. */
const parsers = {
  choice: ({ values = [] }: Row) => ({ parse: oneOf(values), values }),
  count: () => ({ parse: whole(1) }),
  prices: () => ({ parse: notAFlag }),
  proxy: () => ({ parse: passwordless }),
  text: () => ({ parse: notAFlag }),
} satisfies { [kind in Row['kind']]?: (row: Row) => object };

type Rows = typeof settings;

/** The flag of a row of the settings table. */
type FlagOf<R> = R extends { flag: infer F extends string; kind: infer K }
  ? { flags: F; text: string } & Pick<R, keyof R & ('advanced' | 'repeat')> &
      (K extends keyof typeof parsers ? ReturnType<(typeof parsers)[K]> : object)
  : never;

type SettingFlags<G> = {
  [N in SettingName as Rows[N] extends { group: G; flag: infer F } ? Attribute<F> : never]: FlagOf<Rows[N]>;
};

/** The flags of one group of settings, by the names of their values in commander. */
export function settingFlags<G extends Row['group']>(group: G): SettingFlags<G> {
  const rows = settingNames.filter((name) => (settings[name] as Row).group === group);
  const flags = rows.map((name) => {
    const { flag: flags = '', help: text = '', advanced, repeat, kind, ...row }: Row = settings[name];
    const read = kind in parsers ? parsers[kind as keyof typeof parsers]({ kind, ...row }) : {};
    return [
      attributeOf(flagOf(name)),
      { flags, text, ...(advanced && { advanced }), ...(repeat && { repeat }), ...read },
    ];
  });
  return Object.fromEntries(flags) as SettingFlags<G>;
}
