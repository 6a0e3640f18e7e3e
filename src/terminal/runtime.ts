import process from 'node:process';

export const runtime = {
  /** `20.20.2` */
  node: process.versions.node,
  /** `linux x64` */
  machine: `${process.platform} ${process.arch}`,
} as const;
