// Dimensions of the drawing in tree units; one unit is one pixel at zoom 1.

export const CARD_WIDTH = 236;
export const CARD_HEIGHT = 46;
export const STUB_HEIGHT = 26;
export const COLUMN = CARD_WIDTH + 56;

/** Between siblings of one band, between bands, and between cards that have different parents. */
export const SIBLING_GAP = 10;
export const BAND_GAP = 26;
export const COUSIN_GAP = 24;
