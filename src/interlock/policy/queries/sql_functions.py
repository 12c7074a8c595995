"""Functions of common databases that only compute, and keywords that precede a parenthesis.

Other functions are judged in `sql_names`.
"""

COMPUTES = frozenset(
    """
    abbrev abs aclexplode acos acosd acosh add_days add_hours add_minutes add_months add_seconds add_weeks add_years
    adddate aes_encrypt age agg aggregate all and any any_value anyif anylast anytextcat app_name apply
    approx_count_distinct approx_distinct approx_percentile approx_percentile_accumulate approx_percentile_combine
    approx_percentile_estimate approx_quantile approx_quantiles approx_top_count approx_top_k approx_top_k_accumulate
    approx_top_k_combine approx_top_k_estimate approx_top_sum approximate_count_distinct approximate_jaccard_index
    approximate_row_count approximate_similarity arbitrary area arg_max arg_max_null arg_min arg_min_null argmax argmin
    array array_agg array_all array_any array_append array_cat array_compact array_concat array_concat_agg
    array_construct array_construct_compact array_contained_by array_contains array_contains_all array_dims
    array_distinct array_except array_extract array_fill array_filter array_first array_flatten array_generate_range
    array_has array_has_all array_insert array_intersect array_intersection array_join array_last array_length
    array_lower array_max array_min array_ndims array_overlaps array_position array_positions array_prepend array_remove
    array_remove_at array_replace array_reverse array_reverse_sort array_sample array_shuffle array_size array_slice
    array_sort array_sum array_to_json array_to_string array_to_tsvector array_union array_union_agg array_unique_agg
    array_upper array_zip arrayagg arraycompact arrayconcat arraycount arraydistinct arrayelement arrayexcept
    arrayfilter arrayjoin arraymap arraymax arraymin arrayreverse arrays_overlap arrays_zip arrayslice arraysort
    arraysum as as_varchar ascii asin asind asinh assumenotnull at at_timezone atan atan2 atan2d atanh atn2 average avg
    avgif avgweighted base64 base64_decode_binary base64_decode_string base64_encode before bernoulli between bigint
    bin_to_uuid binary binary_quantize bit bit_and bit_and_agg bit_andagg bit_count bit_get bit_length bit_lshift
    bit_not bit_or bit_or_agg bit_oragg bit_rshift bit_shiftleft bit_shiftright bit_xor bit_xor_agg bit_xoragg bitand
    bitand_agg bitandagg bitmap_bit_position bitmap_bucket_number bitmap_construct_agg bitmap_count bitmap_or_agg bitnot
    bitor bitor_agg bitoragg bitshiftleft bitshiftright bitwise_and bitwise_and_agg bitwise_count bitwise_left_shift
    bitwise_not bitwise_or bitwise_or_agg bitwise_right_shift bitwise_xor bitwise_xor_agg bitxor bitxor_agg bitxoragg
    bm25 bool bool_and bool_or booland booland_agg boolean boolnot boolor boolor_agg boolxor boolxor_agg broadcast
    calendar_month calendar_quarter calendar_year convertcurrency day_in_month day_in_week day_in_year day_only
    fiscal_month fiscal_quarter fiscal_year hour_in_day week_in_month week_in_year
    bson_extract_bigint bson_extract_bson bson_extract_double bson_extract_string bson_match_any_exists btrim by
    byte_length bytea byteacat bytealike byteanlike cardinality case casefold cast cast_to_str_type cbrt ceil ceiling
    center changes char char_length character character_length charindex charset check check_json check_xml checksum
    choose chr city_hash64 cityhash64 clock_timestamp coalesce code_points_to_bytes code_points_to_string coercibility
    col_description collate collation collect_list collect_set columnproperty columns compress concat concat_ws conflict
    connect_by_root connection_id contains contains_substr conv convert convert_from convert_timezone convert_to
    convert_to_charset convert_tz corr cos cosd cosh cosine_distance cosinedistance cot cotd coth count count_big
    count_if countd countif countmatches covar_pop covar_samp crc32 crc32c crypt csc csch cube cume_dist curdate
    current_account current_account_name current_available_roles current_catalog current_client current_database
    current_date current_date_utc current_datetime current_ip_address current_localtimestamp current_organization_name
    current_organization_user current_region current_role current_role_type current_schema current_schemas
    current_secondary_roles current_session current_setting current_time current_timestamp current_timezone
    current_transaction current_user current_user_id current_version current_warehouse currentdatabase currentschemas
    currval curtime cutquerystring database databasepropertyex datalength date date_add date_bin date_diff date_format
    date_from_parts date_from_unix_date date_parse date_part date_str_to_date date_sub date_subtract date_to_date_str
    date_to_di date_trunc dateadd datediff datediff_big datefromparts datename datepart datesub datetime datetime2
    datetime_add datetime_diff datetime_sub datetime_trunc datetimefromparts datetimeoffset datetrunc datetype day
    day_of_month day_of_week day_of_year dayname dayofmonth dayofweek dayofweek_iso dayofweekiso dayofyear days_between
    db_id db_name dbstat decimal decode decode_case decompress_binary decompress_string default define degrees
    dense_rank di_to_date diagonal diameter dictget dictgetordefault dictgetornull dicthas difference digest distinct
    div div0 div0null dlog10 dmetaphone domain dot_product double dow doy dround dtrunc duckdb_functions edit_distance
    editdist3 editdistance element_at else elt empty encode encrypt encrypt_raw ends_with endswith eomonth epoch
    epoch_ms epoch_ns epoch_us equal_null erf erfc error_message euclidean_distance every except exclude exists exp
    explode explode_outer exploding_generate_series export_set extract extractall extracturlparameter factorial family
    farm_fingerprint farmfingerprint64 field filter find find_in_set findnth first first_value flatten float float64
    floor for forall force foreign format format_date format_datetime format_number format_string format_time
    format_timestamp format_type formatdatetime formatmessage formatreadablequantity formatreadablesize
    formatreadabletimedelta found_rows from from_base from_base32 from_base64 from_csv from_days from_hex
    from_iso8601_date from_iso8601_timestamp from_iso8601_timestamp_nanos from_json from_posix_time from_unixtime
    from_utc_timestamp from_utf8 fts5 fts5_source_id gamma gap_fill gcd gen_random_uuid gen_salt generate_array
    generate_date_array generate_series generate_subscripts generate_timestamp_array generate_uuid generator get get_bit
    get_byte get_current_time get_current_ts_config get_extract get_format get_ignore_case get_json_object get_path
    getbit getdatabaseencoding getdate getpgusername getutcdate greatest greatest_ignore_nulls group group_concat
    grouparray groupbitand groupbitor groupbitxor groupconcat grouping grouping_id groups groupuniqarray has
    has_any_column_privilege has_column_privilege has_database_privilege has_function_privilege has_schema_privilege
    has_sequence_privilege has_table_privilege has_type_privilege hasany hash hash_agg hash_md5 hash_sha hash_sha1
    hash_sha256 hash_sha512 hashbytes hashtype_md5 having height hex hex_decode_binary hex_decode_string hex_encode
    highlight histogram hll hmac host host_name hostmask hour hours_between hypertable_size icu_unicode_version
    ident_current if iff ifnotfinite ifnull ignore iif ilike in index inet6_aton inet6_ntoa inet_aton inet_client_addr
    inet_client_port inet_merge inet_ntoa inet_same_family inet_server_addr inet_server_port initcap inline inline_outer
    inner_product insert instr int int64 integer interpolate interval into is is_array is_ascii is_inf is_ipv4 is_ipv6
    is_nan is_normalized is_null_value isclosed isdate isempty isfinite ishorizontal isinf isinfinite isjson isnan
    isnull isnumeric isodow isopen isoyear isparallel isperp isvertical jaro_winkler_similarity jarowinkler_similarity
    jarowinklersimilarity join json json_agg json_agg_strict json_array json_array_append json_array_contains
    json_array_contains_double json_array_contains_json json_array_contains_string json_array_element
    json_array_element_text json_array_elements json_array_elements_text json_array_insert json_array_length
    json_arrayagg json_build_array json_build_object json_contains json_contains_path json_depth json_each
    json_each_text json_error_position json_exists json_extract json_extract_array json_extract_bigint
    json_extract_double json_extract_json json_extract_path json_extract_path_text json_extract_scalar
    json_extract_string json_extract_string_array json_format json_group_array json_group_object json_insert json_keys
    json_length json_match_any json_match_any_exists json_merge_patch json_merge_preserve json_object json_object_agg
    json_object_agg_strict json_object_agg_unique json_object_agg_unique_strict json_object_field json_object_field_text
    json_object_keys json_objectagg json_overlaps json_parse json_patch json_populate_record json_populate_recordset
    json_pretty json_query json_query_array json_quote json_remove json_replace json_search json_set json_storage_size
    json_strip_nulls json_table json_to_array json_to_record json_to_recordset json_tree json_tuple json_type
    json_typeof json_unquote json_valid json_value json_value_array jsonb_agg jsonb_agg_strict jsonb_array_element
    jsonb_array_element_text jsonb_array_elements jsonb_array_elements_text jsonb_array_length jsonb_build_array
    jsonb_build_object jsonb_concat jsonb_contains jsonb_delete jsonb_delete_path jsonb_each jsonb_each_text
    jsonb_exists jsonb_exists_all jsonb_exists_any jsonb_extract jsonb_extract_path jsonb_extract_path_text
    jsonb_extract_scalar jsonb_insert jsonb_object jsonb_object_agg jsonb_object_agg_strict jsonb_object_agg_unique
    jsonb_object_agg_unique_strict jsonb_object_field jsonb_object_field_text jsonb_object_keys jsonb_path_exists
    jsonb_path_exists_tz jsonb_path_match jsonb_path_match_tz jsonb_path_query jsonb_path_query_array
    jsonb_path_query_array_tz jsonb_path_query_first jsonb_path_query_first_tz jsonb_path_query_tz jsonb_populate_record
    jsonb_populate_record_valid jsonb_populate_recordset jsonb_pretty jsonb_set jsonb_set_lax jsonb_strip_nulls
    jsonb_to_record jsonb_to_recordset jsonb_typeof jsonextract jsonextractarrayraw jsonextractbool jsonextractfloat
    jsonextractint jsonextractraw jsonextractstring jsonhas jsonlength julianday justify_days justify_hours
    justify_interval key kurtosis l1_distance l2_distance l2_normalize l2distance lag laginframe last last_day
    last_day_of_month last_insert_id last_insert_rowid last_query_id last_value lastval lateral lax_bool lax_float64
    lax_int64 lax_string lca lcase lcm lead leadinframe least least_ignore_nulls left leftpad len length lengthutf8
    levenshtein levenshtein_distance levenshtein_less_equal levenshteindistance lgamma like likelihood likely limit
    linestring list list_aggr list_aggregate list_any_value list_append list_apply list_concat list_contains
    list_cosine_distance list_count list_distance list_distinct list_extract list_filter list_has list_has_any list_max
    list_min list_prepend list_reduce list_reverse_sort list_slice list_sort list_sum list_transform list_unique
    list_value list_zip listagg ln localtime localtimestamp locate locf log log10 log2 logical_and logical_or lower
    lower_hex lower_inc lower_inf lowerutf8 lpad ltree2text ltrim make_date make_dt_interval make_interval make_set
    make_time make_timestamp make_timestamptz makeaclitem makedate maketime manhattan_distance map map_cat map_concat
    map_contains_key map_delete map_entries map_filter map_from_arrays map_from_entries map_insert map_keys map_pick
    map_size map_values masklen match match_against match_recognize matchinfo materialized max max_by maxif maxmap md5
    md5_binary md5_digest md5_hex md5_number_lower64 md5_number_upper64 measures median member metaphone microsecond min
    min_by minhash minhash_combine minif minmap minute minutes_between mod mode money monotonically_increasing_id month
    monthname months months_add months_between mul_d_interval multiif named_struct nanvl nchar negative netmask network
    newid next_day nlevel nodes nolock normal normalize normalize_and_casefold not notempty notlike now now64 npoints
    nth_value ntile nullable nullif nullifzero num_nonnulls num_nulls number number_to_str numbers numeric numnode
    numrange nvarchar nvl nvl2 obj_description object_agg object_construct object_delete object_id object_insert
    object_keys object_name object_transform objectproperty octet_length offset offsets on openjson option or order
    ordinal over overlay pad parse parse_bignumeric parse_date parse_datetime parse_ident parse_ip parse_json
    parse_numeric parse_time parse_timestamp parse_url parsedatetime parsename partition patindex pattern percent_rank
    percentile percentile_approx percentile_cont percentile_disc period_add period_diff pg_available_extension_versions
    pg_available_extensions pg_backend_pid pg_basetype pg_blocking_pids pg_char_to_encoding pg_client_encoding
    pg_collation_for pg_column_compression pg_column_size pg_column_toast_chunk_id pg_conf_load_time
    pg_conversion_is_visible pg_current_snapshot pg_current_wal_flush_lsn pg_current_wal_insert_lsn pg_current_wal_lsn
    pg_current_xact_id pg_current_xact_id_if_assigned pg_database_size pg_describe_object pg_encoding_max_length
    pg_encoding_to_char pg_extension_update_paths pg_function_is_visible pg_get_acl pg_get_constraintdef pg_get_expr
    pg_get_function_arguments pg_get_function_identity_arguments pg_get_function_sqlbody pg_get_functiondef
    pg_get_indexdef pg_get_keywords pg_get_object_address pg_get_partition_constraintdef pg_get_partkeydef
    pg_get_publication_tables pg_get_replica_identity_index pg_get_ruledef pg_get_serial_sequence
    pg_get_statisticsobjdef pg_get_statisticsobjdef_columns pg_get_triggerdef pg_get_userbyid pg_get_viewdef pg_has_role
    pg_index_column_has_property pg_index_has_property pg_indexam_has_property pg_indexam_progress_phasename
    pg_indexes_size pg_input_error_info pg_input_is_valid pg_is_in_recovery pg_is_other_temp_schema pg_jit_available
    pg_last_wal_receive_lsn pg_last_wal_replay_lsn pg_last_xact_replay_timestamp pg_listening_channels pg_lock_status
    pg_lsn pg_mcv_list_items pg_my_temp_schema pg_options_to_table pg_partition_ancestors pg_partition_root
    pg_partition_tree pg_postmaster_start_time pg_relation_filenode pg_relation_filepath pg_relation_size
    pg_safe_snapshot_blocking_pids pg_sequence_last_value pg_sequence_parameters pg_settings_get_flags pg_size_bytes
    pg_size_pretty pg_snapshot_xip pg_snapshot_xmax pg_split_walfile_name pg_stat_get_activity pg_table_is_visible
    pg_table_size pg_tablespace_databases pg_tablespace_location pg_tablespace_size pg_timezone_abbrevs_abbrevs
    pg_timezone_names pg_total_relation_size pg_trigger_depth pg_type_is_visible pg_typeof pg_visible_in_snapshot
    pg_wal_lsn_diff pg_walfile_name pg_walfile_name_offset pg_xact_commit_timestamp pg_xact_status phraseto_tsquery pi
    pivot plainto_tsquery point posexplode posexplode_outer position pow power pragma_collation_list
    pragma_compile_options pragma_database_list pragma_foreign_key_check pragma_foreign_key_list pragma_function_list
    pragma_index_info pragma_index_list pragma_index_xinfo pragma_integrity_check pragma_module_list pragma_page_count
    pragma_page_size pragma_pragma_list pragma_quick_check pragma_table_info pragma_table_list pragma_table_xinfo
    pragma_user_version previous_day primary printf quantile quantile_cont quantile_disc quantileexact quantilegk
    quantileif quantiles quantiletdigest quarter quote quote_ident quote_literal quote_nullable quotename radians radius
    rand randcanonical randn random random_normal randomblob randstr range range_agg range_bucket range_intersect_agg
    range_merge range_n rank ratio_to_report readuncommitted real recursive references reg_domain regclass regexp
    regexp_contains regexp_count regexp_extract regexp_extract_all regexp_full_match regexp_i_like regexp_instr
    regexp_like regexp_match regexp_matches regexp_replace regexp_split regexp_split_to_array regexp_split_to_table
    regexp_substr regexp_substr_all regexpextract regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope
    regr_sxx regr_sxy regr_syy regr_valx regr_valy repeat repeated_count repeatstr replace replaceall replaceone
    replaceregexpall replaceregexpone replicate result_scan returning reverse right rightpad rint rlike rollup round
    round_even row row_count row_number row_security_active row_to_json rowcount rowcount_big rows rpad rtreecheck
    rtreedepth rtreenode rtrim rtrimmed_length safe_add safe_cast safe_convert_bytes_to_string safe_divide safe_multiply
    safe_negate safe_offset safe_ordinal safe_subtract sample schema schema_id schema_name schema_of_json scope_identity
    scope_resolution search search_ip sec sec_to_time sech second seconds_between select seq1 seq2 seq4 seq8 sequence
    serverproperty session_user set set_agg set_bit set_byte set_masklen sets setseed setweight sha sha1 sha1_binary
    sha1_hex sha2 sha224 sha256 sha2_binary sha2_hex sha384 sha512 shiftleft shiftright shobj_description show_trgm
    shuffle sign signum similar_escape similar_to_escape similarity sin sind sinh size skew skewness slice slope
    smallint snippet some sort_array soundex soundex_p123 space spark_partition_id split split_by_string split_part
    split_to_array split_to_map split_to_table splitby splitbychar splitbyregexp splitbystring sqlite_compileoption_get
    sqlite_compileoption_used sqlite_source_id sqlite_version sqrt square st_area st_asewkt st_asgeojson st_astext
    st_buffer st_centroid st_contains st_distance st_distance_sphere st_distancesphere st_dwithin st_geogfromtext
    st_geogpoint st_geomfromewkt st_geomfromtext st_intersection st_intersects st_length st_makeenvelope st_makepoint
    st_point st_setsrid st_srid st_transform st_union st_within st_x st_y stack standard_hash starts_with startswith
    statement_timestamp std stddev stddev_pop stddev_samp stdev str_position str_split str_split_regex str_to_date
    str_to_map str_to_time str_to_unix straight_join strftime strict_word_similarity string string_agg string_escape
    string_split string_split_regex string_to_array string_to_table strip strip_null_value strlen strpos strptime strtok
    strtok_split_to_table strtok_to_array strtol struct struct_extract struct_insert struct_pack stuff subdate subpath
    substr substring substring_index substringindex subtractdays subtractmonths subtype subvector sum sumif summap
    sumornull suser_name suser_sname sys_connect_by_path sysdate sysdatetime sysdatetimeoffset system_rows system_user
    systimestamp sysutcdatetime table tablesample tan tanh text textlen then time time_add time_bucket
    time_bucket_gapfill time_diff time_format time_from_parts time_slice time_str_to_date time_str_to_time
    time_str_to_unix time_sub time_to_sec time_to_str time_to_time_str time_to_unix time_trunc timeadd timediff
    timefromparts timeofday timestamp timestamp_add timestamp_diff timestamp_from_parts timestamp_ltz
    timestamp_ltz_from_parts timestamp_micros timestamp_millis timestamp_ntz timestamp_ntz_from_parts timestamp_seconds
    timestamp_sub timestamp_trunc timestamp_tz_from_parts timestampadd timestampdiff timestampfromparts
    timestampltzfromparts timestampntzfromparts timestampsub timestamptz timestamptzfromparts timetz to_array to_ascii
    to_base32 to_base64 to_binary to_boolean to_char to_code_points to_csv to_date to_days to_decfloat to_decimal
    to_double to_geography to_geometry to_hex to_json to_json_string to_jsonb to_map to_number to_numeric to_oct
    to_regclass to_regcollation to_regnamespace to_regoper to_regproc to_regprocedure to_regrole to_regtype to_seconds
    to_time to_timestamp to_timestamp_ltz to_timestamp_ntz to_timestamp_tz to_tsquery to_tsvector to_unix_timestamp
    to_unixtime to_utc_timestamp to_utf8 to_varchar to_variant todate todatetime todatetime64 today todayofmonth
    todayofweek todecimal128 todecimal32 todecimal64 tofloat tofloat32 tofloat64 tohour toint16 toint32 toint64 toint8
    tointervalsecond toisoweek toisoyear tominute tomonday tomonth top topk tostartofday tostartofhour
    tostartofmicrosecond tostartofmillisecond tostartofminute tostartofmonth tostartofquarter tostartofsecond
    tostartofyear tostring total total_changes totypename touint16 touint32 touint64 touint8 tounixtimestamp toyear
    toyyyymm toyyyymmdd transaction_timestamp transform transform_values translate trim trim_array trimboth trimleft
    trimright trunc truncate try try_add try_base64_decode_binary try_base64_decode_string try_cast try_convert
    try_divide try_element_at try_hex_decode_binary try_hex_decode_string try_multiply try_parse try_parse_json
    try_strptime try_subtract try_to_binary try_to_boolean try_to_date try_to_decfloat try_to_decimal try_to_double
    try_to_number try_to_numeric try_to_time try_to_timestamp try_to_timestamp_ltz try_to_timestamp_ntz
    try_to_timestamp_tz ts_debug ts_delete ts_filter ts_headline ts_lexize ts_or_di_to_di ts_or_ds_add ts_or_ds_diff
    ts_or_ds_to_date ts_or_ds_to_date_str ts_or_ds_to_datetime ts_or_ds_to_time ts_or_ds_to_timestamp ts_parse ts_rank
    ts_rank_cd ts_token_type tsquery_phrase tsvector_concat tsvector_to_array tuple txid_current
    txid_current_if_assigned txid_current_snapshot txid_snapshot_xip txid_snapshot_xmax txid_status
    txid_visible_in_snapshot type_name typeof ucase unaccent unbase64 uncompress uncompressed_length unhex unicode
    uniform union uniq uniqcombined uniqexact uniqhll12 unique unistr unix_date unix_micros unix_millis unix_seconds
    unix_timestamp unix_to_str unix_to_time unix_to_time_str unixepoch unlikely unnest unpivot upper upper_inc upper_inf
    upperutf8 url_decode url_encode url_extract_fragment url_extract_host url_extract_parameter url_extract_path
    url_extract_port url_extract_protocol url_extract_query use user user_name using utc_date utc_time utc_timestamp
    utctimestamp uuid uuid_generate_v1 uuid_generate_v4 uuid_short uuid_string uuid_to_bin uuidv4 uuidv7 value values
    var_pop var_samp varbinary varchar varchar2 variance variance_pop variance_samp vector vector_cosine_similarity
    vector_dims vector_inner_product vector_l1_distance vector_l2_distance vector_norm version visitparamextractstring
    websearch_to_tsquery week week_of_year week_start weekday weekiso weekofyear weeks_between weight_string when where
    width width_bucket window with with_timezone within word_similarity xml xml_is_well_formed
    xml_is_well_formed_content xml_is_well_formed_document xmlagg xmlattributes xmlcomment xmlconcat xmlconcat2
    xmlelement xmlexists xmlforest xmlget xmlnamespaces xmlparse xmlroot xmlserialize xmltable xmltext xmlvalidate xor
    xpath xpath_exists year year_of_week year_of_week_iso yearofweek yearofweekiso years_between yearweek yesterday
    zeroblob zeroifnull zeros zip_with zipf
    """.split()
)
"""In lower case. Functions not in this set may do anything."""
