/**
 * Words of the query language, for colours and completion: keywords, functions and the collections
 * of the system.
 */

export const KEYWORDS: readonly string[] = [
  ..."SELECT DISTINCT FROM WHERE GROUP BY HAVING ORDER ASC DESC LIMIT OFFSET AS JOIN LEFT INNER ON".split(
    " ",
  ),
  ..."UNNEST UNION ALL INSERT INTO DOCUMENTS VALUES INITIAL ID CONFLICT DO FAIL NOTHING UPDATE MERGE".split(
    " ",
  ),
  ..."SET APPLY INCREMENT UNSET RESTART WITH DELETE EVICT TOMBSTONE RETURNING COLLECTION USE".split(
    " ",
  ),
  ..."CREATE DROP INDEX IF NOT EXISTS EXPLAIN PROFILE ADVISE PROVISION EXECUTE FUNCTION SYNC ALTER".split(
    " ",
  ),
  ..."SYSTEM SHOW AND OR IN BETWEEN LIKE IS NULL MISSING TRUE FALSE CASE WHEN THEN ELSE END ANY".split(
    " ",
  ),
  ..."EVERY SATISFIES ARRAY FIRST LAST NULLS FOR COUNTER MAP REGISTER ATTACHMENT RAW VALUE IDS".split(
    " ",
  ),
  ..."ILIKE ESCAPE CAST CONTEXT PEERS UPDATE_LOCAL_DIFF".split(" "),
];

/** The functions that the manual lists, and the aggregates. */
export const FUNCTIONS: readonly string[] = [
  ..."abs acos array_agg array_append array_concat array_contains array_contains_null".split(" "),
  ..."array_except array_flatten array_insert array_intersect array_length array_position".split(
    " ",
  ),
  ..."array_remove array_replace array_reverse array_sort array_union array_zip asin atan atan2 avg".split(
    " ",
  ),
  ..."byte_length cast ceil char_length character_length clock coalesce concat contains cos cosh".split(
    " ",
  ),
  ..."count date_add date_cast date_diff date_format date_part date_range date_sub date_trunc decode".split(
    " ",
  ),
  ..."degrees deserialize_json duration_cast duration_format ends_with floor ifmissing".split(" "),
  ..."ifmissingornull ifnull is_boolean is_number is_string ismissing ismissingornull isnull".split(
    " ",
  ),
  ..."joinstr json_type length lower lpad ltrim max median mid min missingif now nullif nvl".split(
    " ",
  ),
  ..."object_concat object_content object_field object_keys object_length object_rename object_set".split(
    " ",
  ),
  ..."object_size object_unset object_values pos position radians regexp_like regexp_replace repeat".split(
    " ",
  ),
  ..."replace request_info round rpad rtrim serialize_json sin sinh split starts_with substr".split(
    " ",
  ),
  ..."substring sum tan tanh trim type tz_offset upper uuid".split(" "),
];

/** The collections of the namespace `system:` that people read. */
export const SYSTEM_COLLECTIONS: readonly string[] = [
  "system:dual",
  "system:collections",
  "system:all_collections",
  "system:indexes",
  "system:system_info",
  "system:active_requests",
  "system:request_history",
  "system:shared_statements",
  "system:vitals",
  "system:data_sync_info",
  "system:peers",
];

const WORDS: ReadonlySet<string> = new Set(KEYWORDS);

export function isKeyword(word: string): boolean {
  return WORDS.has(word.toUpperCase());
}

const FUNCTION_WORDS: ReadonlySet<string> = new Set(FUNCTIONS);

export function isFunction(word: string): boolean {
  return FUNCTION_WORDS.has(word.toLowerCase());
}
