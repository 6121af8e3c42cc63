// What a page did, read from outside: CPU time between its marks, and its memory.

/** CPU milliseconds of the main thread from each mark to the next, sorted. */
export async function traced(page, work) {
  const session = await page.context().newCDPSession(page);
  const events = [];
  session.on('Tracing.dataCollected', ({ value }) => events.push(...value));
  const complete = new Promise((resolve) => session.once('Tracing.tracingComplete', resolve));
  await session.send('Tracing.start', { transferMode: 'ReportEvents', traceConfig: { includedCategories: ['blink.user_timing'] } });
  await work();
  await session.send('Tracing.end');
  await complete;
  const marks = events.filter((event) => event.cat === 'blink.user_timing' && event.name === 'frame').map((event) => event.tts / 1000);
  return marks.slice(1).map((at, index) => at - marks[index]).sort((a, b) => a - b);
}

export const quantile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
export const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];

export async function heap(page) {
  return page.evaluate(() => {
    gc();
    gc();
    return performance.memory.usedJSHeapSize / 1e6;
  });
}
