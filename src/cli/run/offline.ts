/** The local gateway of `--offline`: its code is loaded with the first command that needs it. */
export { startOffline } from '../../gateway/index.ts';
