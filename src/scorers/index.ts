export * from './prebuilt/index.ts';
export * from './shared/utils.ts';
