export * from './prebuilt/index.ts';
export * from './utils/index.ts';
