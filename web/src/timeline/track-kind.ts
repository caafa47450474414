// What a track shows: the numbers of the tile format (docs/formats/tile.md).
export enum TrackKind {
  Spans = 0,
  Counter = 1,
}
