// All components in one place: import { Page, Panel, DataTable } from '../components';
export { Empty, ErrorBox, Figure, Help, Loading, Notes, Page, Panel } from './basic';
export {
  Button,
  Checkbox,
  Choices,
  Dialog,
  NumberBox,
  SearchBox,
  Select,
  Tabs,
  TextBox,
  type Choice,
} from './controls';
export { DataTable, type DataTableProps } from './data-table';
export { Jump } from './jump';
export { Tree, type TreeProps } from './tree';
export { Ring, type RingItem } from './ring';
export { Bars, Legend, type BarsProps } from './bars';
export { HeatMap, type HeatMapProps } from './heat-map';
export { Series, type SeriesLine, type SeriesMarker, type SeriesProps } from './series';
export { toast } from './toast';
export { useCommands, useKeyHelp, type Command, type KeyHelp } from './commands';
export { useLoad, useResult, useRoute, type Loaded } from './use-result';
export { useSize } from './use-size';
export { View } from './view';
export { isSummable, isNumeric, type Sort } from './table-model';
export { download } from './download';
