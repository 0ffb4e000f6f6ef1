/** Normal quantile of 0.975, for intervals of 95 %. */
export const Z_95 = 1.959_963_985;
