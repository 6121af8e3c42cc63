// What is said of a node besides its status: that something has replaced it, that it is stale, that it is a retry.

import type { StatusLook } from './format';

export const STALE: StatusLook = { tone: 'partial', mark: '▲', label: 'stale' };
export const REPLACED: StatusLook = { tone: 'canceled', mark: '↷', label: 'replaced' };
export const RETRY: StatusLook = { tone: 'neutral', mark: '↻', label: 'retry' };

/** How something looks that has a status, and may be replaced or stale besides: what is replaced is grey, and nothing stale looks like success. */
export function withStanding(look: StatusLook, { current = true, stale }: { current?: boolean; stale: boolean }): StatusLook {
  if (!current) return { ...look, tone: REPLACED.tone };
  return stale && (look.tone === 'done' || look.tone === 'neutral') ? { ...look, tone: STALE.tone } : look;
}

interface Marked {
  current: boolean;
  stale: boolean;
  retry: boolean;
  superseded: boolean;
}

/** The most important first. A superseded node says with its status that it is replaced, and what is replaced is not stale. */
export function nodeMarks({ current, stale, retry, superseded }: Marked): StatusLook[] {
  const standing = !current ? (superseded ? [] : [REPLACED]) : stale ? [STALE] : [];
  return retry ? [...standing, RETRY] : standing;
}
